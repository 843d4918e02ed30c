// SPDX-License-Identifier: Apache-2.0

// Package slower makes a registry, an image and a node slow, one after the other, and compares what `lifeline
// regressions` says after each.
package slower

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster of this package.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 4}, &bench))
}
