// SPDX-License-Identifier: Apache-2.0

// Package joined tests `lifeline serve` on a real node whose API server, etcd, kubelet and
// containerd all send spans. The trace of a change has each span that belongs to it, and no other.
// The audit log is the reference.
package joined

import (
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// receiver is the address for the components' spans. A test's server listens on it.
	receiver string
)

func TestMain(m *testing.M) {
	// By default, a component silently drops spans if more than 2048 wait, as on a busy machine.
	_ = os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "65536")
	var err error
	if receiver, err = harness.FreeAddress(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesReal, Tracing: every()}, &bench))
}

// every returns the tracing of components that send the server all spans of changes: these, or all
// in lab.Traced. It follows docs/guides/components.md and `lifeline doctor`: etcd has rate 0.
func every(these ...lab.Component) map[lab.Component]lab.Tracing {
	tracing := rate(lab.EveryTrace).Of(these...)
	if t, ok := tracing[lab.Etcd]; ok {
		t.SamplingRatePerMillion = 0
		tracing[lab.Etcd] = t
	}
	return tracing
}

// rate returns the tracing of a component with that sampling rate.
func rate(perMillion int32) lab.Tracing {
	return lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: perMillion}
}
