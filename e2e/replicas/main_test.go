// SPDX-License-Identifier: Apache-2.0

// Package replicas tests several lifeline servers as standbys of one cluster. Servers are killed,
// stopped, and denied rights. The spans that all of them send are compared with those of one
// undisturbed server.
package replicas

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// carol may read everything, but has no right on Leases.
const carol = "carol"

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(
		harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 2, Users: []lab.User{{Name: carol}}}, &bench),
	)
}
