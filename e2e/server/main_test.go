// SPDX-License-Identifier: Apache-2.0

// Package server holds the end-to-end tests of the commands that ask a
// `lifeline serve`: ls, trace and watch, on a real control plane with fake
// nodes.
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
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK}, &bench))
}

// serve starts a server once nothing of earlier tests is still going on.
func serve(t *testing.T, o harness.ServerOptions) *harness.Server {
	t.Helper()
	harness.Eventually(t, "the namespaces of other tests being gone", func() bool {
		return !strings.Contains(bench.MustKubectl(t, "", "get", "namespaces"), "Terminating")
	})
	s := bench.Server(t, o)
	s.Start(t)
	return s
}

// asking is a call that asks that server.
func asking(s *harness.Server, args ...string) harness.Call {
	return harness.Call{Args: args, Env: []string{"LIFELINE_SERVER=http://" + s.APIAddress()}}
}

// deployment is a Deployment that pulls its image each time; the notes say how
// the fake kubelet behaves.
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

// hasty makes a Deployment give up soon.
func hasty(manifest string) string {
	return strings.Replace(manifest, "progressDeadlineSeconds: 600", "progressDeadlineSeconds: 2", 1)
}

// apply applies a manifest without lifeline.
func apply(t *testing.T, manifest string) {
	t.Helper()
	bench.MustKubectl(t, manifest, "apply", "-f", "-")
}
