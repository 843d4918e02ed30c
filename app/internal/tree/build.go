// SPDX-License-Identifier: Apache-2.0

// Package tree makes the spans of the traces: of each reconciliation with its phases and writes, of requests and
// of commands, and the verdict on the whole. It decides nothing about causes and ends.
package tree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/ending"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Builder makes the spans of the traces of a group.
type Builder struct {
	known   index.View
	placed  *placed.Changes
	trail   *trail.Trail
	scene   *cause.Scene
	endings *ending.Endings
	reasons *ending.Reasons
	fights  *Fights
	steps   phase.Steps
	kept    *Kept
}

// Sources are the inputs of a Builder. All reconciliations have been concluded.
type Sources struct {
	Scene   *cause.Scene
	Endings *ending.Endings
	Reasons *ending.Reasons
	Fights  *Fights
	// Published returns the publications of a Pod as an endpoint.
	Published func(*change.Timeline) []phase.Publication
	// Kept are the spans of the look before.
	Kept *Kept
}

// New returns a Builder.
func New(from *Sources) *Builder {
	s := from.Scene
	return &Builder{
		known: s.Known, placed: s.Placed, trail: s.Trail, scene: s,
		endings: from.Endings, reasons: from.Reasons, fights: from.Fights, kept: from.Kept,
		steps: phase.New(phase.Sources{
			Times: s.Trail, Conclude: from.Endings.Conclude, Published: from.Published, Controller: s.Known.Controller,
			Attachments: s.Known.Attachments,
		}),
	}
}

// Build makes the traces of the lineages.
func (b *Builder) Build(lines []*change.Lineage) []*span.Trace {
	out := make([]*span.Trace, 0, len(lines))
	for _, l := range lines {
		if len(l.Reconciliations) == 0 && len(l.Loose) == 0 && l.Run == nil && !l.Vain {
			continue
		}
		if t := b.trace(l); len(t.Spans) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (b *Builder) trace(l *change.Lineage) *span.Trace {
	t := &span.Trace{ID: l.ID}
	var all []*span.Span
	for _, r := range l.Reconciliations {
		if !b.placed.Elsewhere(r) {
			all = b.spans(all, r)
		}
	}
	for _, w := range l.Loose {
		s := writeSpan(l.ID, b.audited(w))
		s.Facts = Requested(s, w)
		if q := b.refusalOf(w); q != nil {
			s.Attributes = append(s.Attributes, userOf(q)...)
		}
		if l.Run != nil {
			s.Parent = change.ParseContext(l.Run.TraceParent, "").SpanID()
			s.Evidence = span.ByRequest
		}
		all = append(all, s)
	}
	for _, w := range l.Refused {
		s := RefusedSpan(w, l)
		if l.Run != nil {
			s.Parent, s.Evidence = change.ParseContext(l.Run.TraceParent, "").SpanID(), span.ByTime
		}
		all = append(all, s)
	}
	v := b.verdict(l)
	t.Outcome, t.Reason = v.outcome, v.text
	if l.Run != nil {
		all = append(all, b.runSpan(l, t))
		b.explainParts(l, all)
	}
	t.Spans = span.TreeOrder(all)
	if root := t.Root(); root != nil {
		root.Attributes = append(root.Attributes, b.reasonAttributes(&v)...)
	}
	return t
}

// runSpan makes the root span of the trace of a command.
func (b *Builder) runSpan(l *change.Lineage, t *span.Trace) *span.Span {
	sc := change.ParseContext(l.Run.TraceParent, "")
	s := &span.Span{
		TraceID: l.ID, ID: sc.SpanID(), Name: span.NameRun, Service: "lifeline",
		Start:   span.Time{Time: l.Run.Start, Source: span.TimeRequest},
		Outcome: t.Outcome, Message: t.Reason,
		Attributes: []attribute.KeyValue{span.KeyCommand.String(span.Bound(l.Run.Command))},
	}
	if up := change.ParseContext(l.Run.Parent, ""); up.IsValid() {
		s.Parent, s.RemoteParent = up.SpanID(), true
		s.Attributes = append(s.Attributes, span.KeyParentSampled.Bool(up.IsSampled()))
	}
	if !l.Run.End.IsZero() {
		s.Attributes = append(s.Attributes, span.KeyExitCode.Int(l.Run.ExitCode))
	}
	if t.Outcome != span.Unfinished && !l.Run.End.IsZero() {
		s.End = span.Time{Time: l.Run.End, Source: span.TimeRequest}
		for _, r := range l.Reconciliations {
			if at := r.Ended.At.At(); at.After(s.End.Time) {
				s.End = at
			}
		}
	}
	if q := b.userOfRun(l); q != nil {
		s.Attributes = append(s.Attributes, userOf(q)...)
	}
	if t.Outcome.InVain() || l.Run.ExitCode != 0 {
		s.Status = span.StatusError
	}
	return s
}

// userOfRun returns a request of a command in the audit log; nil if there is none, or if they have several users.
func (b *Builder) userOfRun(l *change.Lineage) *observation.Write {
	var of *observation.Write
	same := func(q *observation.Write) bool {
		if q == nil || q.User == "" {
			return true
		}
		if of == nil {
			of = q
		}
		return q.User == of.User && q.Impersonator == of.Impersonator && q.Unauthenticated == of.Unauthenticated
	}
	for _, r := range l.Reconciliations {
		for _, w := range r.Writes {
			if w.Request == nil {
				continue
			}
			if q := b.trail.Audited(w); q != nil && !same(q.Write) {
				return nil
			}
		}
	}
	for _, w := range l.Loose {
		if !same(b.refusalOf(w)) {
			return nil
		}
	}
	for _, w := range l.Refused {
		if !same(w.Write) {
			return nil
		}
	}
	return of
}

// spans appends the spans of one reconciliation to out: its own span, its phases, and its writes
// with an observed request.
func (b *Builder) spans(out []*span.Span, r *change.Reconciliation) []*span.Span {
	if !b.reuses(r) {
		return b.makeSpans(out, r)
	}
	by := b.reuseDigest(r)
	if spans := b.kept.find(r.Timeline, by); spans != nil {
		return append(out, spans...)
	}
	from := len(out)
	out = b.makeSpans(out, r)
	b.kept.add(r.Timeline, by, slices.Clone(out[from:]))
	return out
}

// makeSpans is spans without those of an earlier look.
func (b *Builder) makeSpans(out []*span.Span, r *change.Reconciliation) []*span.Span {
	start := b.trail.Start(r)
	s := &span.Span{
		TraceID: r.Lineage.ID, ID: r.ID(), Parent: r.Above, RemoteParent: r.Remote, Evidence: r.Evidence,
		Name: span.ReconcileName(r.Timeline.Ref.Kind.Kind), Service: b.service(r), Object: r.Timeline.Ref,
		Start: start.At(), Links: fightLinks(r, b.fights.Of(r)),
	}
	if up := b.shownAbove(r); up != nil {
		s.Parent = up.ID()
	}
	if r.Done {
		s.End, s.Outcome, s.Message = r.Ended.At.At(), r.Ended.Outcome, span.Bound(r.Ended.Message)
		if s.Outcome == span.Failed {
			s.Status = span.StatusError
		}
		if s.End.Before(s.Start.Time) {
			s.End = s.Start
		}
	}
	s.Attributes, s.Facts = appendEarliest(b.attributes(r), start), b.facts(r)
	if !r.Done && r.Timeline.Last() != nil {
		why := b.reasons.Of(r.Timeline)
		s.Message = span.Bound(why.Text)
		if up := r.Parent; up != nil && up.Lineage == r.Lineage { // the others have that of the whole change
			v := verdict{text: span.Bound(describe(r, why.Text)), blamed: r, reason: why}
			s.Attributes = append(s.Attributes, b.reasonAttributes(&v)...)
		}
	}
	out = append(out, s)
	s.Events = slices.Grow(s.Events, len(r.Writes)+len(r.Notes))
	s.Facts.Writes = slices.Grow(s.Facts.Writes, len(r.Writes)+len(r.Notes))
	before := b.placed.HandedOutBefore(r)
	for _, w := range r.Writes {
		if before(w) {
			continue
		}
		s.Events = append(s.Events, b.decision(w)...)
		if w.Request != nil {
			ws := writeSpan(r.Lineage.ID, w.Request)
			ws.Parent, ws.Object = s.ID, r.Timeline.Ref
			if w.Request.ResourceVersion == 0 { // not in the response, but known from the watch
				//nolint:gosec // etcd revisions are int64
				ws.Attributes = append(ws.Attributes, span.KeyRV.Int64(int64(w.ObjectVersion())))
			}
			q := b.trail.Audited(w)
			if q != nil {
				ws.Attributes = append(ws.Attributes, userOf(q.Write)...)
			}
			ws.Attributes = appendEdits(ws.Attributes, w)
			ws.Facts = Requested(ws, w.Request)
			completeWrite(ws, w, q)
			out = append(out, ws)
			continue
		}
		out = b.addStored(out, s, r, w)
	}
	for _, w := range r.Notes {
		if before(w) {
			continue
		}
		out = b.addStored(out, s, r, w)
	}
	for _, w := range r.Refused {
		ws := RefusedSpan(w, r.Lineage)
		ws.Parent = s.ID
		out = append(out, ws)
	}
	s.Events = append(s.Events, objectEvents(r)...)
	slices.SortStableFunc(s.Events, func(a, b span.Event) int { return a.Time.Compare(b.Time) })
	boundEvents(s)
	s.Facts.Writes = boundWrites(s.Facts.Writes)
	return phase.Spans(out, b.steps.Of(r), r, b.trail.Start(r))
}

// shownAbove returns the nearest reconciliation above r with a span in the same trace, or nil.
func (b *Builder) shownAbove(r *change.Reconciliation) *change.Reconciliation {
	up := r.Parent
	for up != nil && b.placed.Elsewhere(up) {
		up = up.Parent
	}
	return up
}

// MaxEvents bounds the events of one span, like the limit of OpenTelemetry.
const MaxEvents = 128

// boundEvents keeps the first and the last events of s, and counts the dropped ones.
func boundEvents(s *span.Span) {
	n := len(s.Events) - MaxEvents
	if n <= 0 {
		return
	}
	s.DroppedEvents = n
	s.Events = slices.Delete(s.Events, MaxEvents/2, MaxEvents/2+n)
}

// maxWrites bounds the writes of one span. DroppedEvents already counts the rest, because each write is
// also an event.
const maxWrites = 1024

// boundWrites sorts the writes by time, and keeps the first and the last ones.
func boundWrites(all []span.Write) []span.Write {
	slices.SortStableFunc(all, func(a, b span.Write) int { return a.End.Compare(b.End) })
	if n := len(all) - maxWrites; n > 0 {
		all = slices.Delete(all, maxWrites/2, maxWrites/2+n)
	}
	return all
}

// service returns the component that did the work of r. For an instant change, this is the author.
func (b *Builder) service(r *change.Reconciliation) string {
	if !r.Instant {
		return change.Reconciler(r.Timeline)
	}
	return cmp.Or(cause.Author(b.scene, r.First()), kind.APIServer)
}

// addStored adds a stored write: as a span if its request is in the audit log, otherwise as an event of
// s, the span of r.
func (b *Builder) addStored(out []*span.Span, s *span.Span, r *change.Reconciliation, w *change.Write) []*span.Span {
	if q := b.trail.Audited(w); q != nil {
		return append(out, auditedSpan(w, r, q))
	}
	s.Events = append(s.Events, b.writeEvent(w, r))
	s.Facts.Writes = append(s.Facts.Writes, b.write(w, r))
	return out
}

// attributes returns the attributes of the span of r.
func (b *Builder) attributes(r *change.Reconciliation) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, 10) // a Pod has no more of them, as a rule
	w := r.Last()
	if w.Version != nil && w.Version.Generation > 0 {
		out = append(out, span.KeyGeneration.Int64(w.Version.Generation))
	}
	if a := cause.Author(b.scene, r.First()); a != "" {
		out = append(out, span.KeyActor.String(a))
	}
	if q := b.trail.Audited(r.First()); q != nil {
		out = append(out, userOf(q.Write)...)
	}
	if edits := r.Edits(); len(edits) > 0 {
		out = append(out, span.KeyFields.StringSlice(edits.Paths()))
		if r.Verb == history.Updated { // a new object has no old values
			out = append(out, span.KeyEdits.StringSlice(edits.Words()))
		}
	}
	if v := r.First().Version; r.Evidence == span.ByAnnotation && v != nil && v.TraceConvention != "" {
		out = append(out, span.KeyConvention.String(span.Bound(v.TraceConvention)))
	}
	if sc := outsideOf(r); sc.IsValid() {
		out = append(out, span.KeyParentSampled.Bool(sc.IsSampled()))
	}
	if r.Heals != nil {
		out = append(out, span.KeyHeals.String(span.Bound(r.Heals.Ref.Kind.Kind+" "+r.Heals.Ref.Name)))
	}
	if t := b.autoscaler(r); t != nil {
		out = append(out, span.KeyAutoscaler.String(span.Bound(t.Ref.Kind.Kind+" "+t.Ref.Name)))
	}
	if last := r.Timeline.Last(); last != nil && last.JudgedBy != "" && r.Verb != history.Deleted {
		out = append(out, span.KeyHealth.String(string(last.JudgedBy)))
	}
	out = append(out, b.delivery(r)...)
	out = append(out, FightAttributes(b.fights.Of(r), w.At.At().Time)...)
	if last := r.Timeline.Last(); last != nil && last.Pod != nil && last.Pod.Node != "" {
		out = append(out, span.KeyNode.String(last.Pod.Node))
		out = appendNode(out, b.known.NodeAttributes(last.Pod.Node))
	}
	out = appendCircumstances(out, r.Timeline, b.known)
	if len(out) == 0 {
		return nil
	}
	return out
}

// outsideOf returns the context from outside above r. It is invalid if there is none, or if it is
// forgotten.
func outsideOf(r *change.Reconciliation) trace.SpanContext {
	v := r.First().Version
	if !r.Remote || v == nil {
		return trace.SpanContext{}
	}
	if sc := change.ParseContext(v.TraceParent, v.TraceState); sc.SpanID() == r.Above || r.Admitted {
		return sc
	}
	return trace.SpanContext{}
}

// appendNode appends the attributes of a Node to out. n may be nil.
func appendNode(out []attribute.KeyValue, n *observation.Node) []attribute.KeyValue {
	if n == nil {
		return out
	}
	runtime, version, _ := strings.Cut(n.Runtime, span.RuntimeSeparator)
	for _, kv := range [...]attribute.KeyValue{
		span.KeyZone.String(span.Bound(n.Zone)),
		span.KeyRegion.String(span.Bound(n.Region)),
		span.KeyInstanceType.String(span.Bound(n.InstanceType)),
		span.KeyRuntime.String(span.Bound(runtime)),
		span.KeyRuntimeVersion.String(span.Bound(version)),
		span.KeyKubelet.String(span.Bound(n.Kubelet)),
		span.KeyNodePool.String(span.Bound(n.Pool)),
	} {
		if kv.Value.AsString() != "" {
			out = append(out, kv)
		}
	}
	return out
}

// writeEvent returns a stored write as an event of the span of r.
func (b *Builder) writeEvent(w *change.Write, r *change.Reconciliation) span.Event {
	attrs := append(make([]attribute.KeyValue, 0, 5), // no more of them, as a rule
		span.KeyVerb.String(w.Verb.String()), span.KeyPart.String(string(w.Part)),
		span.KeyRV.Int64(int64(w.ObjectVersion()))) //nolint:gosec // etcd revisions are int64
	if a := cause.Author(b.scene, w); a != "" {
		attrs = append(attrs, span.KeyActor.String(a))
	}
	if w.Timeline != r.Timeline {
		attrs = append(
			attrs,
			span.KeyKind.String(w.Timeline.Ref.Kind.Kind),
			span.KeyName.String(span.Bound(w.Timeline.Ref.Name)),
			span.KeyUID.String(string(w.Timeline.Ref.UID)),
		)
	}
	attrs = appendEdits(attrs, w)
	if w.Reconstructed {
		attrs = append(attrs, span.KeyTimeEnd.String(string(span.TimeObject)))
	}
	attrs = appendEarliest(attrs, w.At)
	return span.Event{Time: w.At.At().Time, Name: span.EventWrite, Attributes: attrs}
}

// appendEarliest appends the beginning of a range of possible times to out.
func appendEarliest(out []attribute.KeyValue, m history.Moment) []attribute.KeyValue {
	if t := m.Earliest(); !t.IsZero() {
		out = append(out, span.KeyEarliest.String(t.UTC().Format(time.RFC3339)))
	}
	return out
}

// appendEdits appends what w changed to out.
func appendEdits(out []attribute.KeyValue, w *change.Write) []attribute.KeyValue {
	if edits := w.Edits(); len(edits) > 0 {
		out = append(out, span.KeyEdits.StringSlice(edits.Words()))
	}
	return out
}

// writeSpan makes the span of a write with an observed request.
func writeSpan(id trace.TraceID, req *observation.Write) *span.Span {
	verb := requestedVerb(req)
	s := &span.Span{
		TraceID: id, ID: change.ParseContext(req.TraceParent, "").SpanID(),
		Name: verb + " " + req.Kind.Kind, Service: change.ClientOf(req.UserAgent), Object: req.Ref,
		Start:    span.Time{Time: req.Start, Source: span.TimeRequest},
		End:      span.Time{Time: req.End, Source: span.TimeRequest},
		Evidence: span.ByRequest,
		Attributes: []attribute.KeyValue{
			span.KeyVerb.String(verb), span.KeyStatusCode.Int(req.Code),
		},
	}
	if !s.ID.IsValid() {
		s.ID = span.DeriveID(
			id,
			string(req.UID),
			"write",
			req.AuditID,
			req.Start.UTC().Format(time.RFC3339Nano),
			strconv.FormatUint(req.ResourceVersion, 10),
		)
	}
	if req.ResourceVersion > 0 {
		//nolint:gosec // etcd revisions are int64
		s.Attributes = append(s.Attributes, span.KeyRV.Int64(int64(req.ResourceVersion)))
	}
	if req.AuditID != "" {
		s.Attributes = append(s.Attributes, span.KeyAuditID.String(span.Bound(req.AuditID)))
	}
	if req.UserAgent != "" {
		s.Attributes = append(s.Attributes, span.KeyUserAgent.String(span.Bound(req.UserAgent)))
	}
	if req.Subresource != "" {
		s.Attributes = append(s.Attributes, span.KeySubresource.String(span.Bound(req.Subresource)))
	}
	if req.Failed() {
		s.Status, s.Outcome = span.StatusError, span.Refused
		s.Message = span.Bound(refusalText(req))
	}
	return s
}

// requestedVerb returns the effect of a request; of a refused one, the desired effect.
func requestedVerb(req *observation.Write) string {
	switch {
	case !req.Failed():
		return history.RequestVerb(req).String()
	case req.Verb == "patch", req.Verb == "apply":
		return history.Updated.String()
	case req.Verb == "deletecollection":
		return history.Deleted.String()
	}
	return req.Verb
}

// LateSpans returns the spans of a reconciliation for a trace that was handed out without it.
func (b *Builder) LateSpans(r *change.Reconciliation) []*span.Span {
	spans := b.spans(nil, r)
	for _, s := range spans {
		s.Attributes = append(s.Attributes, span.KeyLate.Bool(true))
	}
	return spans
}
