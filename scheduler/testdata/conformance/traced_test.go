// SPDX-License-Identifier: Apache-2.0

// conformance.sh adds this file to the tests of k8s.io/kubernetes/pkg/scheduler. With it, their
// schedulers have spans.
package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/kubernetes/pkg/scheduler"

	lifeline "github.com/kube-lifeline/lifeline/scheduler"
)

// discard is an OTLP client without a receiver.
type discard struct{}

func (discard) Start(context.Context) error { return nil }

func (discard) Stop(context.Context) error { return nil }

func (discard) UploadTraces(_ context.Context, all []*tracepb.ResourceSpans) error {
	if len(all) > 0 {
		mark("spans")
	}
	return nil
}

// mark appends a line to the file of $LIFELINE_MARKS, which conformance.sh checks.
func mark(line string) {
	f, err := os.OpenFile(os.Getenv("LIFELINE_MARKS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		panic(err)
	}
}

func init() {
	exporter, err := lifeline.NewExporter(context.Background(), discard{}, nil, nil)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	seen := map[*scheduler.Scheduler]bool{}
	scheduler.BeforeUse = func(sched *scheduler.Scheduler) {
		mu.Lock()
		defer mu.Unlock()
		if seen[sched] {
			return
		}
		seen[sched] = true
		if _, err := lifeline.Trace(sched, exporter); err != nil {
			mark(fmt.Sprint("not traced: ", err))
			return
		}
		mark("traced")
	}
}
