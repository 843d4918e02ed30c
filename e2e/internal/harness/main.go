// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/lab"
)

// startPatience bounds the start of a cluster, whose first one on a machine
// builds Kubernetes.
const startPatience = 30 * time.Minute

// endPatience is how long goroutines may take to end that have no more to do.
const endPatience = time.Minute

// MainSlow is Main for a package whose tests on the cluster are all Slow. Under
// -short it starts no cluster.
func MainSlow(m *testing.M, opts lab.Options, bench **Bench) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	return Main(m, opts, bench)
}

// Main runs the tests of a package on one cluster, which it puts into bench
// and which ends with them, and returns the code to exit with. Where the
// cluster needs root that is not there, no test runs, and it says so.
func Main(m *testing.M, opts lab.Options, bench **Bench) int {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	others := goleak.IgnoreCurrent()
	b, err := Start(ctx, opts)
	if errors.Is(err, lab.ErrNeedsRoot) {
		fmt.Fprintln(os.Stderr, "SKIP: these tests need root:", err)
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*bench = b
	code := m.Run()
	if err := b.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code != 0 {
		return code
	}
	left := goleak.Find(others)
	for began := time.Now(); left != nil && time.Since(began) < endPatience; {
		left = goleak.Find(others) // which waits for a moment
	}
	if left != nil {
		fmt.Fprintln(os.Stderr, left)
		return 1
	}
	return 0
}
