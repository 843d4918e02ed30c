// SPDX-License-Identifier: Apache-2.0

// Package kwok runs the end-to-end scenarios on a real control plane with fake nodes. They need no
// root.
package kwok

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 2}, &bench))
}
