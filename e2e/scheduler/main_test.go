// SPDX-License-Identifier: Apache-2.0

// Package scheduler tests the scheduler with spans of scheduler/ on a real control plane with fake
// nodes: its spans in the traces of `lifeline serve`, and its placements. It tests the scheduler operator
// of examples/, too.
package scheduler

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share. traced is the scheduler's program.
	bench  *harness.Bench
	traced string
	// receiver is the address for the scheduler's spans. A test's server listens on it.
	receiver string
)

// nodes is their number in the cluster: 100 for the placements, which are slow.
var nodes = 100

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		nodes = 10
	}
	var err error
	if traced, err = program.Own(context.Background(), "scheduler", "./cmd/lifeline-scheduler"); err == nil {
		receiver, err = harness.FreeAddress()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK, NodeCount: nodes, Scheduler: traced,
		Tracing: lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.Scheduler),
	}, &bench))
}
