// SPDX-License-Identifier: Apache-2.0

// Package kwok holds the end-to-end scenarios that need no root: a real control
// plane with fake nodes.
package kwok

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	os.Exit(withCluster(m))
}

func withCluster(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	b, err := harness.Start(ctx, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bench = b
	code := m.Run()
	if err := b.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
