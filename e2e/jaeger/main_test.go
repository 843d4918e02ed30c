// SPDX-License-Identifier: Apache-2.0

// Package jaeger holds what `lifeline serve` sends against a real Jaeger: each
// trace that the server has is one whole trace there, with the spans of
// kube-apiserver and etcd in it.
package jaeger

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/jaeger/internal/jaeger"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// receiver is where the components send their spans, and a server of a test
	// listens.
	receiver string
	// built is the directory in which Jaeger is.
	built string
)

// asked is the variable that has Jaeger built for these tests.
const asked = "LIFELINE_E2E_JAEGER"

func TestMain(m *testing.M) {
	cached, err := jaeger.Source.Cached(context.Background())
	if err == nil && !cached && os.Getenv(asked) == "" {
		fmt.Println(
			"SKIP: Jaeger is not in the cache, and takes five minutes to build: make e2e-jaeger, or " + asked + "=1, builds it",
		)
		return
	}
	if err == nil {
		built, err = jaeger.Source.Build(context.Background(), func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, format+"\n", args...)
		})
	}
	if err == nil {
		receiver, err = harness.FreeAddress()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// What a component cannot send in time on a busy machine it drops without a
	// word, beyond 2048 spans.
	_ = os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "65536")
	os.Exit(harness.Main(m, lab.Options{
		Nodes:   lab.NodesKWOK,
		Tracing: lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.APIServer, lab.Etcd),
	}, &bench))
}
