// SPDX-License-Identifier: Apache-2.0

// Package cases plays cases from public bug reports on fake nodes. One file has one case.
package cases

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "50"); err != nil { // the cases wait, and hardly compute
		panic(err)
	}
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, NodeCount: 3}, &bench))
}

// TestCases plays each case and compares the answers.
func TestCases(t *testing.T) {
	harness.Slow(t)
	cases.Run(t, bench, []cases.Case{
		namedPort,
		ingressPort,
		scaledToZero,
		autoscalerOff,
		onDelete,
		claimInUse,
		keptDependant,
		keptDefinition,
		staleAPI,
		unknownScheduler,
		missingNode,
		managedJob,
		deadlock,
		cordon,
		label,
		quota,
		applyConflict,
		immutableData,
		twoBudgets,
		defaultLimit,
		failedJob,
		exceededJob,
		jobWithTTL,
		collected,
		rewrittenImage,
		badRevision,
	})
}
