// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Export is one request that a Collector got, whole.
type Export struct {
	Came   time.Time
	Traces ptrace.Traces
}

// exportHead is what a line of OTLP JSON begins with: when the request came, in
// a field that readers of OTLP ignore since they do not know it.
const exportHead = `{"receivedTimeUnixNano":"%d",`

// KeepExports makes the collector keep requests whole from now on, in order of
// arrival, and forget those kept before.
func (c *Collector) KeepExports() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exports, c.whole = nil, true
}

// Exports returns the requests kept so far; they are not to be changed.
func (c *Collector) Exports() []Export {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exports[:len(c.exports):len(c.exports)]
}

// Spans gives the spans of the request.
func (e Export) Spans() iter.Seq[*Span] {
	return func(yield func(*Span) bool) {
		for s := range spans(e.Traces) {
			if s.Came = e.Came; !yield(s) {
				return
			}
		}
	}
}

// Without returns the request without the spans that drop accepts, and how
// many are left.
func (e Export) Without(drop func(ptrace.Span) bool) (rest Export, left int) {
	rest = Export{e.Came, ptrace.NewTraces()}
	e.Traces.CopyTo(rest.Traces)
	rest.Traces.ResourceSpans().RemoveIf(func(r ptrace.ResourceSpans) bool {
		r.ScopeSpans().RemoveIf(func(s ptrace.ScopeSpans) bool {
			s.Spans().RemoveIf(drop)
			return s.Spans().Len() == 0
		})
		return r.ScopeSpans().Len() == 0
	})
	return rest, rest.Traces.SpanCount()
}

// AppendJSON appends the request as a line of OTLP JSON. ParseExport reads it.
func (e Export) AppendJSON(to []byte) ([]byte, error) {
	text, err := ptraceotlp.NewExportRequestFromTraces(e.Traces).MarshalJSON()
	if err != nil {
		return to, fmt.Errorf("cannot write spans as JSON: %w", err)
	}
	to = fmt.Appendf(to, exportHead, e.Came.UnixNano())
	return append(append(to, bytes.TrimPrefix(text, []byte("{"))...), '\n'), nil
}

// ParseExport reads a line of OTLP JSON; Came is zero if it does not say.
func ParseExport(line []byte) (Export, error) {
	var e Export
	req := ptraceotlp.NewExportRequest()
	if err := req.UnmarshalJSON(line); err != nil {
		return e, fmt.Errorf("cannot read spans: %w", err)
	}
	e.Traces = req.Traces()
	head, tail, _ := bytes.Cut([]byte(exportHead), []byte("%d"))
	if rest, ok := bytes.CutPrefix(line, head); ok {
		number, _, _ := bytes.Cut(rest, tail)
		ns, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			return e, fmt.Errorf("cannot read when spans came: %w", err)
		}
		e.Came = time.Unix(0, ns)
	}
	return e, nil
}
