// SPDX-License-Identifier: Apache-2.0

// Package foreign tests the trace of a change with a third-party operator, on a real control plane
// with fake nodes. The operator is built unchanged from its published module. It has another
// convention for the trace context on its objects.
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
