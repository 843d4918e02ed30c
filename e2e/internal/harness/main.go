// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
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
	if err := goleak.Find(others); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
