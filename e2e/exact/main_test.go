// SPDX-License-Identifier: Apache-2.0

// Package exact holds `lifeline serve` with its admission webhook against a real
// control plane: a change has one trace in which every edge is known, and none is
// inferred, whoever makes it and however the API server traces.
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
	// receiver is where the API server sends its spans, and calls where it calls
	// the webhook: at a server of a test.
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
