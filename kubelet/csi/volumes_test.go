// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestExpire: each span waits for its own ten minutes. The clock is that of the bubble: a sleep takes no real time.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("")
		v := newVolumes()
		hold := func(name string) {
			_, span := tracer.Start(t.Context(), name)
			v.hold("vol-1", span, time.Now())
		}
		hold("first")
		time.Sleep(maxWait / 2)
		hold("second")
		time.Sleep(maxWait/2 + time.Second)
		if got := spans.GetSpans(); len(got) != 1 || got[0].Name != "first" || len(got[0].Attributes) > 0 {
			t.Errorf("after the first wait: %v", got)
		}
		v.use("vol-1", pod{uid: "b"})
		got := spans.GetSpans()
		if len(got) != 2 || got[1].Name != "second" || len(got[1].Attributes) != 1 {
			t.Errorf("after the publication: %v", got)
		}
		if v.held != 0 || len(v.waiting) != 0 {
			t.Errorf("%d spans still wait: %v", v.held, v.waiting)
		}
	})
}
