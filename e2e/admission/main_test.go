// SPDX-License-Identifier: Apache-2.0

// Package admission tests the effects of the admission webhook on a real control
// plane with fake nodes. It never causes an additional stored write, its contexts
// are those of the real changes, and its faults never stop the cluster.
package admission

import (
	"flag"
	"io"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// bench is the cluster that all tests of this package share.
var bench *harness.Bench

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	klog.SetOutput(io.Discard)
	flag.Parse()
	// The tests wait more than they work; more at once would disturb each other.
	if err := flag.Set("test.parallel", "3"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK,
		KWOK: lab.KWOKOptions{
			Pull:   10 * time.Millisecond,
			Create: 10 * time.Millisecond,
			Start:  10 * time.Millisecond,
			Ready:  20 * time.Millisecond,
		},
		ExtraArgs: map[lab.Component][]string{lab.ControllerManager: {
			// Without metrics there is nothing to wait for.
			"--horizontal-pod-autoscaler-sync-period=1s", "--horizontal-pod-autoscaler-downscale-stabilization=1s",
			// Its rate limit would slow the test down.
			"--kube-api-qps=5000", "--kube-api-burst=10000",
		}},
	}, &bench))
}
