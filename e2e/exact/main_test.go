// SPDX-License-Identifier: Apache-2.0

// Package exact tests `lifeline serve` with its admission webhook on a real control plane. A change
// has one trace, and each edge in it has exact evidence instead of an inference. This holds for
// every kind of user and every sampling rate of the API server.
package exact

import (
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// alice is an ordinary user.
const alice = "alice"

var (
	// bench is the cluster that all tests of this package share.
	bench *harness.Bench
	// receiver is the address for the API server's spans, and calls that of the webhook. A test's
	// server listens on both.
	receiver, calls string
)

func TestMain(m *testing.M) {
	for _, address := range []*string{&receiver, &calls} {
		var err error
		if *address, err = harness.FreeAddress(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK, Users: []lab.User{{Name: alice}},
	}, &bench))
}
