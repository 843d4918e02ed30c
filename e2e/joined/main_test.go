// SPDX-License-Identifier: Apache-2.0

// Package joined holds `lifeline serve` against a real node whose API server,
// etcd, kubelet and containerd all emit spans: each that belongs to a change is
// in its trace, with the audit log as the truth, and none that does not.
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
	// receiver is where the components send their spans, and a server of a test
	// listens.
	receiver string
)

func TestMain(m *testing.M) {
	// What a component cannot send in time on a busy machine it drops without a
	// word, beyond 2048 spans.
	_ = os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "65536")
	var err error
	if receiver, err = harness.FreeAddress(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, lab.Options{Nodes: lab.NodesReal, Tracing: every()}, &bench))
}

// every has the components send all that there is of changes to the server: all
// that Traced lists, or these. They are told to as docs/guides/components.md and
// `lifeline doctor` say, etcd with rate 0.
func every(these ...lab.Component) map[lab.Component]lab.Tracing {
	tracing := rate(lab.EveryTrace).Of(these...)
	if t, ok := tracing[lab.Etcd]; ok {
		t.SamplingRatePerMillion = 0
		tracing[lab.Etcd] = t
	}
	return tracing
}

// rate sends so many of a million traces.
func rate(perMillion int32) lab.Tracing {
	return lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: perMillion}
}
