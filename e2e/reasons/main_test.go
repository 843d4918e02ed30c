// SPDX-License-Identifier: Apache-2.0

// Package reasons makes things go wrong on a real node, one after the other, and asks `lifeline why`.
// With -update it replaces its part of docs/reasons.md.
package reasons

import (
	"flag"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite the measured part of docs/reasons.md")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "150"); err != nil { // the fixtures wait, and hardly compute
		panic(err)
	}
	os.Exit(harness.MainSlow(m, lab.Options{
		AddOns: []lab.AddOn{lab.Metrics}, // an autoscaler reaches its maximum
		Nodes:  lab.NodesReal,
		// With static CPUs, the resize of a Guaranteed Pod is infeasible.
		ExtraArgs: map[lab.Component][]string{lab.Kubelet: {"--cpu-manager-policy=static", "--kube-reserved=cpu=50m"}},
	}, &bench))
}
