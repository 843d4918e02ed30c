// SPDX-License-Identifier: Apache-2.0

// Package upstream plays Kubernetes' own end-to-end tests, unmodified, on a cluster with fake nodes.
// Four servers watch: with the audit log at level RequestResponse, at level Metadata, by watch alone,
// and with the log but killed again and again. The audit log is the judge. With -update the figures go
// to docs/accuracy.md.
package upstream

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite the part of docs/accuracy.md")

func TestMain(m *testing.M) {
	opts := lab.Options{Nodes: lab.NodesKWOK, NodeCount: 3, Version: lab.Versions()[0]}
	for _, g := range groups {
		opts.Users = append(opts.Users, lab.User{Name: g.user})
	}
	os.Exit(harness.MainSlow(m, opts, &bench))
}
