// SPDX-License-Identifier: Apache-2.0

// Package real holds the end-to-end scenarios on a real node: kubelet,
// containerd and runc, which need root.
package real

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share; nil without
	// root.
	bench *harness.Bench
	// kubelet collects the kubelet's own spans.
	kubelet *harness.Collector
)

func TestMain(m *testing.M) {
	os.Exit(withCluster(m))
}

func withCluster(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	var err error
	if kubelet, err = harness.NewCollector(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer kubelet.Stop()
	bench, err = harness.Start(ctx, lab.Options{
		Nodes: lab.NodesReal,
		Tracing: map[lab.Component]lab.Tracing{
			lab.Kubelet: {Endpoint: kubelet.Endpoint, SamplingRatePerMillion: 1_000_000},
		},
	})
	if errors.Is(err, lab.ErrNeedsRoot) {
		fmt.Fprintln(os.Stderr, "SKIP: the scenarios on a real node need root:", err)
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := bench.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
