// SPDX-License-Identifier: Apache-2.0

// Package operator tests the Head operator of examples/, and so the operator kit, on a real control
// plane with fake nodes. It checks the operator's traces, alone and together with lifeline run.
package operator

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK}, &bench))
}
