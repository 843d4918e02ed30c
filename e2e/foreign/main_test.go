// SPDX-License-Identifier: Apache-2.0

// Package foreign tests, on a real control plane with fake nodes, what the
// trace of a change looks like where an operator takes part that nobody here
// wrote: unchanged, from its published module, with a trace context on its
// objects in a convention of its own.
package foreign

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK}, &bench))
}
