// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"io"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// BenchmarkAnswer writes a trace of 10,000 spans in both forms.
func BenchmarkAnswer(b *testing.B) {
	t := spantest.Many(1666)
	from := &memory{traces: []*span.Trace{t}}
	s := newServer(Options{})
	e, err := store.NewGate(from, store.Whole).For(store.Scope{}).Trace(b.Context(), t.ID)
	if err != nil {
		b.Fatal(err)
	}
	for name, write := range map[string]answer{
		"v3": s.otlp([]*store.Excerpt{e}), "page": s.page([]*store.Excerpt{e}, nil),
		"summary": func(io.Writer) error { summarize(e); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := write(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(t.Spans)), "spans")
		})
	}
}
