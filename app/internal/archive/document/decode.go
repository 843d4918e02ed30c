// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Decode is the inverse of Encode. Its errors wrap ErrDamaged.
func Decode(line []byte) (*Trace, error) {
	t, err := decode(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t, nil
}

func decode(line []byte) (*Trace, error) {
	// Go's own JSON bounds how deep values are nested; OTLP's parser does not.
	var parts struct {
		Lifeline *member `json:"lifeline"`
	}
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, fmt.Errorf("it is not JSON of an export: %w", err)
	}
	m := parts.Lifeline
	switch {
	case m == nil:
		return nil, errors.New(`it has no member "lifeline", so it is not a line of "lifeline archive export"`)
	case m.Format > format:
		return nil, fmt.Errorf("a newer version of lifeline has written it (format %d)", m.Format)
	case m.Format < 1:
		return nil, errors.New("the member lifeline.format is missing")
	}
	id, err := trace.TraceIDFromHex(m.TraceID)
	if err != nil {
		return nil, fmt.Errorf("lifeline.traceId %.80q: %w", m.TraceID, err)
	}
	spans, err := m.spans(line, id)
	if err != nil {
		return nil, err
	}
	return m.trace(id, spans)
}

// trace divides the spans into the batches. Each span is in one of them.
func (m *member) trace(id trace.TraceID, spans map[trace.SpanID]*span.Span) (*Trace, error) {
	out := &Trace{Cluster: m.Cluster, Pinned: m.Pinned}
	if len(m.Parts) == 0 || m.Parts[0].Amends {
		return nil, errors.New("lifeline.parts has no finished version at its beginning")
	}
	for i, p := range m.Parts {
		t := &span.Trace{ID: id, Outcome: m.Outcome, Reason: m.Reason}
		for _, text := range p.Spans {
			sid, err := spanID(text)
			if err != nil {
				return nil, err
			}
			s := spans[sid]
			if s == nil {
				return nil, fmt.Errorf("span %s of lifeline.parts[%d] is missing, or listed twice", sid, i)
			}
			delete(spans, sid)
			t.Spans = append(t.Spans, s)
		}
		b := &store.Batch{Revision: p.Revision, AsOf: m.AsOf}
		if p.Amends {
			b.Amendments = []*span.Trace{t}
		} else {
			b.Finished = []*span.Trace{t}
		}
		if err := b.Validate(); err != nil {
			return nil, err
		}
		out.Batches = append(out.Batches, b)
	}
	for sid := range spans {
		return nil, fmt.Errorf("span %s is not in lifeline.parts", sid)
	}
	return out, nil
}

// spans returns the spans of a line.
func (m *member) spans(line []byte, id trace.TraceID) (map[trace.SpanID]*span.Span, error) {
	listed := 0
	for _, p := range m.Parts {
		listed += len(p.Spans)
	}
	out := map[trace.SpanID]*span.Span{}
	if len(m.Exact) < listed { // else the OTLP document may be empty
		var err error
		if out, err = m.read(line); err != nil {
			return nil, err
		}
	}
	for text, e := range m.Exact {
		sid, err := spanID(text)
		if err != nil {
			return nil, err
		}
		exact, err := span.Unpack(e)
		if err != nil {
			return nil, fmt.Errorf("span %s of lifeline.exact: %w", sid, err)
		}
		if len(exact) != 1 || exact[0].ID != sid || exact[0].TraceID != id {
			return nil, fmt.Errorf("lifeline.exact has no span %s", sid)
		}
		out[sid] = exact[0]
	}
	for text, f := range m.Facts {
		sid, err := spanID(text)
		if err != nil {
			return nil, err
		}
		if out[sid] == nil || f == nil {
			return nil, fmt.Errorf("lifeline.facts has no data of a span %s", sid)
		}
		out[sid].Facts = f
	}
	return out, nil
}

// read returns the spans of an OTLP document, with the open ones reopened.
func (m *member) read(doc []byte) (map[trace.SpanID]*span.Span, error) {
	t, err := span.FromJSON(doc)
	if err != nil {
		return nil, err
	}
	out := make(map[trace.SpanID]*span.Span, len(t.Spans))
	for _, s := range t.Spans {
		out[s.ID] = s
	}
	for _, text := range m.Open {
		sid, err := spanID(text)
		if err != nil {
			return nil, err
		}
		if s := out[sid]; s != nil { // undo span.EndOpen
			s.End, s.Outcome = span.Time{}, ""
		}
	}
	return out, nil
}

// spanID reads an ID. Zeros are an ID of an archive, too.
func spanID(text string) (trace.SpanID, error) {
	if text == (trace.SpanID{}).String() {
		return trace.SpanID{}, nil
	}
	id, err := trace.SpanIDFromHex(text)
	if err != nil {
		return id, fmt.Errorf("%.80q is not the ID of a span: %w", text, err)
	}
	return id, nil
}
