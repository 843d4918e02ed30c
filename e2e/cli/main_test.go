// SPDX-License-Identifier: Apache-2.0

// Package cli tests, on a real control plane with fake nodes, what surrounds
// the scenarios: bad input, the proxy and its clients, recordings, observers
// and the API server's bad days, and OTLP.
package cli

import (
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// Ordinary users, who may do what a test grants them.
const (
	alice = "alice"
	bob   = "bob"
)

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// apiserver collects the API server's own spans.
	apiserver *harness.Collector
)

func TestMain(m *testing.M) {
	if encoding := os.Getenv(clientEncoding); encoding != "" {
		os.Exit(client(encoding))
	}
	os.Exit(withCollector(m))
}

func withCollector(m *testing.M) int {
	var err error
	if apiserver, err = harness.NewCollector(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer apiserver.Stop()
	return harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK,
		Users: []lab.User{{Name: alice}, {Name: bob}},
		Tracing: map[lab.Component]lab.Tracing{
			lab.APIServer: {Endpoint: apiserver.Endpoint},
		},
		ExtraArgs: map[lab.Component][]string{
			lab.APIServer: {"--feature-gates=CBORServingAndStorage=true"},
		},
	}, &bench)
}
