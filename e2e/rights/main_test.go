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

// bench is the cluster that all tests of this package share. With an aggregated API, its API server says in a
// ConfigMap how it sends users to other servers.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesKWOK, AddOns: []lab.AddOn{lab.Metrics}}, &bench))
}
