// SPDX-License-Identifier: Apache-2.0

// Package rights tests who may see what of a `lifeline serve`, on a real control plane with fake nodes: the API
// server decides, by its own roles, tokens and certificates.
package rights

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
