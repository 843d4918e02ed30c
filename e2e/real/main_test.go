// SPDX-License-Identifier: Apache-2.0

// Package real runs the end-to-end scenarios on a real node with kubelet, containerd and runc. They
// need root.
package real

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// kubelet receives the kubelet's spans.
	kubelet *harness.Collector
)

func TestMain(m *testing.M) {
	os.Exit(withCollector(m))
}

func withCollector(m *testing.M) int {
	var err error
	if kubelet, err = harness.NewCollector(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer kubelet.Stop()
	flag.Parse()
	var addOns []lab.AddOn
	if !testing.Short() { // TestHelm is slow
		addOns = append(addOns, lab.Helm)
	}
	return harness.Main(m, lab.Options{
		Nodes:  lab.NodesReal,
		AddOns: addOns,
		Tracing: map[lab.Component]lab.Tracing{
			lab.Kubelet: {Endpoint: kubelet.Endpoint, SamplingRatePerMillion: 1_000_000},
		},
	}, &bench)
}
