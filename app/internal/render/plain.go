// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Plain writes traces to an output that cannot redraw: one line for each ended span, and one for
// each change of a trace's pending condition. The cause of several failures is written once in a
// trace. Plain replaces Live and is safe for concurrent use.
type Plain struct {
	mu sync.Mutex
	w  io.Writer
	o  Options

	// begin is the zero of relative times.
	begin   time.Time
	told    map[trace.SpanID]bool
	waiting map[trace.TraceID]string
	shown   map[trace.TraceID]reasons
}

// NewPlain returns an empty Plain. Of o it uses Color.
func NewPlain(w io.Writer, o Options) *Plain {
	return &Plain{
		w: w, o: o, told: map[trace.SpanID]bool{}, waiting: map[trace.TraceID]string{},
		shown: map[trace.TraceID]reasons{},
	}
}

// Draw writes the changes in traces since the last call.
func (p *Plain) Draw(traces []*span.Trace, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out bytes.Buffer
	for _, t := range traces {
		qualified := manyNamespaces(t)
		shown := p.shown[t.ID]
		if shown == nil {
			shown = reasons{}
			p.shown[t.ID] = shown
		}
		for _, s := range p.news(t) {
			if p.begin.IsZero() {
				p.begin = t.Spans[0].Start.Time
			}
			fmt.Fprintln(&out, p.line(s, shown, qualified, now).string(p.o.Color))
		}
		reason := escape(t.Reason)
		if t.Outcome == span.Unfinished && reason != "" && p.waiting[t.ID] != reason {
			p.waiting[t.ID] = reason
			if _, repeated := shown.repeats(reason); !repeated {
				shown.show(reason)
				fmt.Fprintln(&out, line{{string(stateOf(t.Root())) + ": " + reason, yellow}}.string(p.o.Color))
			}
		}
	}
	if out.Len() == 0 {
		return nil
	}
	_, err := p.w.Write(out.Bytes())
	return err
}

// Write passes other output through.
func (p *Plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.w.Write(b)
}

// Close does nothing.
func (p *Plain) Close() error { return nil }

// news returns the newly ended spans of t, ordered by their ends.
func (p *Plain) news(t *span.Trace) []*span.Span {
	var out []*span.Span
	for _, s := range t.Spans {
		if s.Open() || p.told[s.ID] || s.Name == span.NameRun {
			continue
		}
		p.told[s.ID] = true
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b *span.Span) int { return a.End.Compare(b.End.Time) })
	return out
}

// line renders an ended span, with times relative to the first trace's start.
func (p *Plain) line(s *span.Span, shown reasons, qualified bool, now time.Time) line {
	l := line{
		{pad("+"+brief(max(0, s.End.Sub(p.begin))), 7), dim},
		{" " + what(s, object.Ref{}, qualified), plain},
		{"  " + escape(s.Service), componentStyle(s.Service)},
		{"  " + length(s, now), plain},
	}
	if m := mark(s, false); m.text != "" {
		l = append(l, piece{"  " + m.text, m.style})
	}
	reason := escape(s.Message)
	if head, _ := shown.repeats(reason); head != "" {
		l = append(l, piece{": " + head, plain})
	}
	shown.show(reason)
	return l
}
