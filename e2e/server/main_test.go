// SPDX-License-Identifier: Apache-2.0

// Package server tests the commands that send requests to a `lifeline serve`: ls, trace, why and
// watch. It uses a real control plane with fake nodes.
package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK, Users: []lab.User{{Name: developer}, {Name: stranger}},
	}, &bench))
}

// serve starts a server after the namespaces of earlier tests are gone.
func serve(t *testing.T, o harness.ServerOptions) *harness.Server {
	t.Helper()
	ends := bench.MustKubectl(t, "", "get", "namespaces", "-o", "name", "--field-selector", "status.phase=Terminating")
	if names := strings.Fields(ends); len(names) > 0 {
		bench.MustKubectl(t, "", append([]string{"wait", "--for=delete", "--timeout=4m"}, names...)...)
	}
	s := bench.Server(t, o)
	s.Start(t)
	return s
}

// asking returns a call of a command with that server.
func asking(s *harness.Server, args ...string) harness.Call {
	return harness.Call{Args: args, Env: []string{"LIFELINE_SERVER=http://" + s.APIAddress()}}
}

// deployment returns the manifest of a Deployment that always pulls its image. The notes configure
// the fake kubelet.
func deployment(namespace, name, version string, replicas int, notes ...string) string {
	annotations := "lab.lifeline.dev/stop: 1s"
	for _, n := range notes {
		annotations += ", lab.lifeline.dev/" + n
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[2]s
  namespace: %[1]s
spec:
  replicas: %[4]d
  progressDeadlineSeconds: 600
  selector:
    matchLabels: {app: %[2]s}
  template:
    metadata:
      labels: {app: %[2]s}
      annotations: {%[5]s}
    spec:
      containers:
        - name: %[2]s
          image: registry.example/%[2]s:%[3]s
          imagePullPolicy: Always
`, namespace, name, version, replicas, annotations)
}

// hasty returns a Deployment's manifest with a short progress deadline.
func hasty(manifest string) string {
	return strings.Replace(manifest, "progressDeadlineSeconds: 600", "progressDeadlineSeconds: 5", 1)
}

// apply applies a manifest without lifeline run.
func apply(t *testing.T, manifest string) {
	t.Helper()
	bench.MustKubectl(t, manifest, "apply", "-f", "-")
}
