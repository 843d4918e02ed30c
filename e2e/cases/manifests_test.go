// SPDX-License-Identifier: Apache-2.0

package cases

import "fmt"

// deployment is the manifest of a Deployment whose Pods have the label app. spec is added to the spec of its
// Pods, in YAML, each line with six spaces before it.
func deployment(name string, replicas int, spec string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
%[3]s      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "registry.example/%[1]s:1", imagePullPolicy: Never}]
`, name, replicas, spec)
}
