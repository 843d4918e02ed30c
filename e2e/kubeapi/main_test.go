// SPDX-License-Identifier: Apache-2.0

// Package kubeapi uses `kubectl get changes` on a real control plane: the rights of users, tables, objects and
// watches; a killed server, and no answer at all. The chart's rights apply. The other objects of the chart are
// processes here.
package kubeapi

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var update = flag.Bool("update", false, "rewrite the transcript in docs/guides/kubectl.md")

// bench is the cluster of these tests.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 2}, &bench))
}
