// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
)

// startOperator starts the Head operator, without support for contexts. Its own
// webhook changes objects.
func startOperator(t *testing.T) {
	t.Helper()
	headoperator.Start(t, bench, headoperator.Options{Args: []string{"--without-kit"}})
}

// renamed gives an object another name, as its labels and its selector.
func renamed(manifest, from, to string) string {
	for _, field := range []string{"name: ", "app: "} {
		manifest = strings.ReplaceAll(manifest, field+from+"\n", field+to+"\n")
	}
	return manifest
}

func head(replicas int, image string) string {
	return fmt.Sprintf(`apiVersion: demo.lifeline.dev/v1alpha1
kind: Head
metadata: {name: web}
spec: {image: "registry.example/%s", replicas: %d}
`, image, replicas)
}

// ready does something and waits until the Head says that it is ready of its
// present generation.
func ready(do func(*stage)) func(*stage) {
	return func(s *stage) {
		do(s)
		generation := s.kubectl("get", "head/web", "-o", "jsonpath={.metadata.generation}")
		s.kubectl("wait", "head/web", "--for=jsonpath={.status.observedGeneration}="+generation, "--timeout=4m")
		s.kubectl("wait", "head/web", "--for=condition=Ready", "--timeout=4m")
	}
}

var operators = []scenario{{
	name:   "Head operator",
	reason: "an operator that nobody instrumented makes objects of its own kinds and of Kubernetes' below them",
	steps: []step{
		{name: "create", do: ready(apply(head(1, "web:1")))},
		{name: "apply again", do: ready(apply(head(1, "web:1")))},
		{name: "scale", do: ready(apply(head(2, "web:1")))},
		{name: "image", do: ready(apply(head(2, "web:2")))},
		{
			name: "server-side",
			do:   ready(func(s *stage) { apply(head(1, "web:3"), "--server-side", "--force-conflicts")(s) }),
		},
		{
			name: "server-side again",
			do:   ready(func(s *stage) { apply(head(1, "web:3"), "--server-side", "--force-conflicts")(s) }),
		},
		{name: "annotate", do: ready(kubectl("annotate", "head/web", "note=a"))},
		{name: "heal", do: ready(func(s *stage) { s.kubectl("delete", "deployment", "--all") })},
		{name: "delete", do: kubectl("delete", "head/web")},
	},
}}
