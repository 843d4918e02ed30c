// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// document returns a trace as OTLP JSON on one line, as render.JSON writes it, with the member
// "lifeline", which has the summary.
func document(e *store.Excerpt, summary Summary, cluster string) ([]byte, error) {
	t, sum := e.Trace(), e.Summary()
	doc := render.Document([]*span.Trace{t}, render.Options{Now: sum.AsOf, Cluster: cluster})
	detail := Detail{Summary: summary, OpenSpans: []string{}}
	for _, s := range t.Spans {
		if s.Open() {
			detail.OpenSpans = append(detail.OpenSpans, s.ID.String())
		}
	}
	member, err := marshal(detail)
	if err != nil {
		return nil, err
	}
	doc = append(bytes.TrimSuffix(doc, []byte("}")), `,"lifeline":`...)
	doc = append(doc, bytes.TrimSuffix(member, []byte("\n"))...)
	return append(doc, "}\n"...), nil
}

// SummaryOf returns s for the API.
func SummaryOf(s *store.Summary) Summary {
	out := Summary{
		TraceID:         s.ID.String(),
		Open:            s.Open,
		Stuck:           s.Stuck,
		State:           s.State(),
		Pinned:          s.Pinned,
		Start:           s.Start.UTC(),
		Duration:        Seconds(s.Duration),
		Outcome:         s.Outcome,
		Was:             s.Was,
		Reason:          s.Reason,
		Name:            s.Name,
		Verb:            s.Verb,
		Command:         s.Command,
		Actor:           s.Actor,
		User:            s.User,
		Heals:           s.Heals,
		Fight:           s.Fight,
		Edits:           s.Edits,
		Category:        s.Category,
		Slowest:         s.Slowest,
		SlowestDuration: Seconds(s.SlowestDuration),
		Current:         s.Current,
		CurrentDuration: Seconds(s.CurrentDuration),
		Spans:           s.Spans,
		AsOf:            s.AsOf.UTC(),
	}
	if !s.SettledAt.IsZero() {
		at := s.SettledAt.UTC()
		out.SettledAt = &at
	}
	if !s.Earliest.IsZero() {
		at := s.Earliest.UTC()
		out.Earliest = &at
	}
	out.Aftermath = aftermathOf(s.Aftermath)
	for _, w := range s.Work {
		out.Work = append(out.Work, Work{w.Label, Seconds(w.Duration)})
	}
	if s.Object != (object.Ref{}) {
		ref := s.Object
		out.Object = &ref
	}
	return out
}

func aftermathOf(a *span.Aftermath) *Aftermath {
	if a == nil {
		return nil
	}
	out := &Aftermath{
		Text: a.Text(), Converged: a.Converged.UTC(), Window: Seconds(a.Window), Over: a.Over, Latest: a.Latest.UTC(),
		Incidents: a.Incidents, BeforeWindow: Seconds(a.BeforeWindow),
	}
	if a.BeforeWindow > 0 {
		out.Before = &a.Before
	}
	return out
}

func (a *Aftermath) stored() *span.Aftermath {
	if a == nil {
		return nil
	}
	out := &span.Aftermath{
		Converged: a.Converged, Window: time.Duration(a.Window), Over: a.Over, Latest: a.Latest, Incidents: a.Incidents,
		BeforeWindow: time.Duration(a.BeforeWindow),
	}
	if a.Before != nil {
		out.Before = *a.Before
	}
	return out
}

// Stored returns the summary for package render.
func (s *Summary) Stored() store.Summary {
	id, _ := trace.TraceIDFromHex(s.TraceID) // a missing ID shows as zeros
	out := store.Summary{
		ID: id, Open: s.Open, Stuck: s.Stuck, Pinned: s.Pinned,
		Start: s.Start, Duration: time.Duration(s.Duration), Outcome: s.Outcome, Was: s.Was, Reason: s.Reason,
		Name: s.Name, Verb: s.Verb, Command: s.Command, Actor: s.Actor, User: s.User, Heals: s.Heals,
		Fight: s.Fight, Edits: s.Edits, Category: s.Category,
		Slowest: s.Slowest, SlowestDuration: time.Duration(s.SlowestDuration),
		Current: s.Current, CurrentDuration: time.Duration(s.CurrentDuration), Spans: s.Spans, AsOf: s.AsOf,
		Aftermath: s.Aftermath.stored(),
	}
	if s.SettledAt != nil {
		out.SettledAt = *s.SettledAt
	}
	if s.Earliest != nil {
		out.Earliest = *s.Earliest
	}
	if s.Object != nil {
		out.Object = *s.Object
	}
	return out
}

func statsOf(s store.Stats) Stats {
	out := Stats{Traces: s.Traces, Open: s.Open, Spans: s.Spans, Writes: s.Writes, Bytes: s.Bytes, Revision: s.Revision}
	if !s.Oldest.IsZero() {
		at := s.Oldest.UTC()
		out.Oldest = &at
	}
	return out
}

func causeOf(c store.Cause) Cause {
	return Cause{
		TraceID: c.TraceID.String(), SpanID: c.SpanID.String(), OfTrace: c.OfTrace.String(), OfSpan: c.OfSpan.String(),
		Parent: c.Parent, Evidence: c.Evidence, Reason: c.Reason,
	}
}

func writeOf(w *store.Write) Write {
	return Write{
		TraceID:         w.TraceID.String(),
		SpanID:          w.SpanID.String(),
		Object:          w.Object,
		Verb:            w.Verb,
		Part:            w.Part,
		Subresource:     w.Subresource,
		ResourceVersion: w.ResourceVersion,
		BasedOn:         w.BasedOn,
		Generation:      w.Generation,
		Actor:           w.Actor,
		User:            w.User,
		AuditID:         w.AuditID,
		Start:           w.Start.UTC(),
		End:             w.End.UTC(),
		Source:          w.Source,
		Changes:         changesOf(w.Changes),
		MoreChanges:     w.MoreChanges,
	}
}

func changesOf(changes []span.FieldChange) []FieldChange {
	var out []FieldChange
	for _, c := range changes {
		out = append(out, FieldChange(c))
	}
	return out
}
