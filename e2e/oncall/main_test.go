// SPDX-License-Identifier: Apache-2.0

// Package oncall breaks twelve things on fake nodes, and asks an on-call engineer's questions for twelve minutes: what
// is broken, why, since when, and which notices came. With -update it replaces its part of docs/reasons.md.
package oncall

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster of this package.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite the part of docs/reasons.md about this test")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 6}, &bench))
}
