// SPDX-License-Identifier: Apache-2.0

// Package jaeger tests the export of `lifeline serve` to a real Jaeger. Each trace of the server
// arrives there complete and in one piece, with the spans of kube-apiserver and etcd.
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
	// receiver is the address for the components' spans. A test's server listens on it.
	receiver string
	// built is the folder of the built Jaeger.
	built string
)

// asked is the environment variable that allows the tests to build Jaeger.
const asked = "LIFELINE_E2E_JAEGER"

func TestMain(m *testing.M) {
	cached, err := jaeger.Source.Cached(context.Background())
	if err == nil && !cached && os.Getenv(asked) == "" {
		fmt.Println(
			"SKIP: Jaeger is not in the cache, and its build takes five minutes: run make e2e-jaeger or set " +
				asked + "=1",
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
	// By default, a component silently drops spans if more than 2048 wait, as on a busy machine.
	_ = os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "65536")
	os.Exit(harness.Main(m, lab.Options{
		Nodes:   lab.NodesKWOK,
		Tracing: lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.APIServer, lab.Etcd),
	}, &bench))
}
