// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// Ctrl-C also reaches the command, which may end first. In either order, the run counts as
// interrupted.
func TestInterruptHeardOfWithTheEnd(t *testing.T) {
	discard := genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(program, []string{program}, discard, append(os.Environ(), asCommand+"=1"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	<-c.exited
	for range 32 { // select takes either
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGINT
		x := &execution{
			Command:  &Command{},
			pipeline: &pipeline.Pipeline{Engine: lifecycle.New(lifecycle.Options{})},
			proxy:    &proxy.Proxy{}, announcer: newAnnouncer(nil, time.Now),
			child: c,
		}
		x.await(signals, c.exited, &observation.Run{Start: c.end})
		if !x.interrupted {
			t.Fatal("the end of the command hid the signal")
		}
	}
}

// TestHopeless: the reason of an open trace counts after its time; a finished trace has none.
func TestHopeless(t *testing.T) {
	stuck := spantest.Unschedulable()
	soon, late := spantest.Epoch.Add(5*time.Second), spantest.Epoch.Add(time.Minute)
	if got := hopeless([]*span.Trace{stuck}, soon, 0); got != "" {
		t.Errorf("after 5 s: got %q, want time for an autoscaler", got)
	}
	if got := hopeless([]*span.Trace{spantest.Apply(), stuck}, late, 0); got != stuck.Reason {
		t.Errorf("after a minute: got %q, want %q", got, stuck.Reason)
	}
	stuck.Root().End = spantest.At(30_000)
	if got := hopeless([]*span.Trace{stuck, {}}, late, 0); got != "" {
		t.Errorf("finished: got %q", got)
	}
}
