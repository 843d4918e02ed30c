// SPDX-License-Identifier: Apache-2.0

// Package document writes and reads one trace of an archive as one line of JSON. The line is a
// document of OTLP, TracesData, as in the files of an OpenTelemetry Collector. Its member "lifeline"
// has what OTLP has no place for, so that the trace returns unchanged.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// format is the version of the member "lifeline".
const format = 1

// ErrDamaged is the error for a line that is not a whole document of this package.
var ErrDamaged = errors.New("damaged")

// Trace is the content of one line.
type Trace struct {
	// Cluster is the UID of the trace's cluster; empty if unknown.
	Cluster string
	Pinned  bool
	// Batches have the trace alone, the valid version first, as store.Copier returns them.
	Batches []*store.Batch
}

// ID returns the ID of the trace.
func (t *Trace) ID() trace.TraceID {
	for _, p := range t.parts() {
		return p.trace.ID
	}
	return trace.TraceID{}
}

// part is the content of one batch.
type part struct {
	batch  *store.Batch
	trace  *span.Trace
	amends bool
}

func (t *Trace) parts() []part {
	var out []part
	for _, b := range t.Batches {
		for _, f := range b.Finished {
			out = append(out, part{b, f, false})
		}
		for _, a := range b.Amendments {
			out = append(out, part{b, a, true})
		}
	}
	return out
}

// member is the member "lifeline".
type member struct {
	Format  int          `json:"format"`
	TraceID string       `json:"traceId"`
	Cluster string       `json:"cluster,omitempty"`
	AsOf    time.Time    `json:"asOf"`
	Outcome span.Outcome `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Pinned  bool         `json:"pinned,omitempty"`
	// Parts are the batches. The first one is the valid version.
	Parts []memberPart `json:"parts"`
	// Open are the IDs of spans without an end. In the document they end at AsOf.
	Open []string `json:"open,omitempty"`
	// Facts are those of the spans that have any, by the ID.
	Facts map[string]*span.Facts `json:"facts,omitempty"`
	// Exact has the spans that OTLP would change, by the ID: each is packed by span.Pack, without facts.
	Exact map[string][]byte `json:"exact,omitempty"`
}

type memberPart struct {
	Revision int64 `json:"revision"`
	// Amends marks additional spans of the finished trace.
	Amends bool `json:"amends,omitempty"`
	// Spans are the IDs of the spans in their order.
	Spans []string `json:"spans"`
}

// Encode returns the line of a trace, with a newline. Invalid UTF-8 becomes valid.
func Encode(t *Trace) ([]byte, error) {
	parts := t.parts()
	if len(parts) == 0 {
		return nil, errors.New("cannot write a trace as JSON: it has no spans")
	}
	first := parts[0]
	whole := &span.Trace{ID: first.trace.ID}
	m := &member{
		Format: format, TraceID: whole.ID.String(), Cluster: t.Cluster, Pinned: t.Pinned,
		AsOf: first.batch.AsOf.UTC(), Outcome: first.trace.Outcome, Reason: first.trace.Reason,
	}
	for _, p := range parts {
		in := memberPart{Revision: p.batch.Revision, Amends: p.amends, Spans: []string{}}
		for _, s := range p.trace.Spans {
			in.Spans = append(in.Spans, s.ID.String())
			if s.Open() {
				m.Open = append(m.Open, s.ID.String())
			}
		}
		m.Parts = append(m.Parts, in)
		whole.Spans = append(whole.Spans, p.trace.Spans...)
	}
	doc := span.ToJSON(span.EndOpen([]*span.Trace{whole}, m.AsOf), t.Cluster)
	m.addExact(doc, whole.Spans)
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot write trace %s as JSON: %w", whole.ID, err)
	}
	doc = append(bytes.TrimSuffix(doc, []byte("}")), `,"lifeline":`...)
	doc = append(doc, data...)
	return append(doc, "}\n"...), nil
}

// addExact adds the spans that do not return unchanged from the OTLP document, and the facts of all.
func (m *member) addExact(doc []byte, spans []*span.Span) {
	read, err := m.read(doc)
	if err != nil {
		read = nil // all spans are added
	}
	for _, s := range spans {
		if s.Facts != nil {
			if m.Facts == nil {
				m.Facts = map[string]*span.Facts{}
			}
			m.Facts[s.ID.String()] = s.Facts
		}
		plain := packed(s)
		if back := read[s.ID]; back != nil && bytes.Equal(plain, packed(back)) {
			continue
		}
		if m.Exact == nil {
			m.Exact = map[string][]byte{}
		}
		m.Exact[s.ID.String()] = plain
	}
}

// packed returns a span with all fields but its facts.
func packed(s *span.Span) []byte {
	plain := *s
	plain.Facts = nil
	return span.Pack([]*span.Span{&plain})
}
