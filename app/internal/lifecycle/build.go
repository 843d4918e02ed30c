// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// build makes the traces of the lineages.
func (d *derivation) build(lines []*lineage) []*span.Trace {
	out := make([]*span.Trace, 0, len(lines))
	for _, l := range lines {
		if len(l.recs) == 0 && len(l.loose) == 0 && l.run == nil && !l.vain {
			continue
		}
		if t := d.trace(l); len(t.Spans) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (d *derivation) trace(l *lineage) *span.Trace {
	t := &span.Trace{ID: l.id}
	var all []*span.Span
	for _, r := range l.recs {
		if !d.elsewhere(r) {
			all = append(all, d.spans(r)...)
		}
	}
	for _, w := range l.loose {
		s := writeSpan(l.id, w)
		if l.run != nil {
			s.Parent = parseContext(l.run.TraceParent, "").SpanID()
			s.Evidence = span.ByRequest
		}
		all = append(all, s)
	}
	for _, w := range l.refused {
		all = append(all, w.span(l))
	}
	t.Outcome, t.Reason = d.verdict(l)
	if l.run != nil {
		all = append(all, d.runSpan(l, t))
	}
	t.Spans = span.TreeOrder(all)
	return t
}

// runSpan is the root of what a command did.
func (d *derivation) runSpan(l *lineage, t *span.Trace) *span.Span {
	sc := parseContext(l.run.TraceParent, "")
	s := &span.Span{
		TraceID: l.id, ID: sc.SpanID(), Name: span.NameRun, Service: "lifeline",
		Start:   span.Time{Time: l.run.Start, Source: span.TimeRequest},
		Outcome: t.Outcome, Message: t.Reason,
		Attributes: []attribute.KeyValue{span.KeyCommand.String(span.Bound(l.run.Command))},
	}
	if up := parseContext(l.run.Parent, ""); up.IsValid() {
		s.Parent, s.RemoteParent = up.SpanID(), true
		s.Attributes = append(s.Attributes, span.KeyParentSampled.Bool(up.IsSampled()))
	}
	if !l.run.End.IsZero() {
		s.Attributes = append(s.Attributes, span.KeyExitCode.Int(l.run.ExitCode))
	}
	if t.Outcome != span.Unfinished && !l.run.End.IsZero() {
		s.End = span.Time{Time: l.run.End, Source: span.TimeRequest}
		for _, r := range l.recs {
			if at := r.ended.at.at(); at.After(s.End.Time) {
				s.End = at
			}
		}
	}
	if t.Outcome == span.Failed || l.run.ExitCode != 0 {
		s.Status = span.StatusError
	}
	return s
}

// spans makes the spans of one reconciliation: itself, its writes whose
// requests were seen, and its phases.
func (d *derivation) spans(r *reconciliation) []*span.Span {
	s := &span.Span{
		TraceID: r.line.id, ID: r.id(), Parent: r.above, RemoteParent: r.remote, Evidence: r.evidence,
		Name: span.ReconcileName(r.t.ref.Kind.Kind), Service: d.service(r), Object: r.t.ref,
		Start: d.start(r).at(), Links: r.links,
	}
	if up := d.shownAbove(r); up != nil {
		s.Parent = up.id()
	}
	if r.done {
		s.End, s.Outcome, s.Message = r.ended.at.at(), r.ended.outcome, span.Bound(r.ended.message)
		if s.Outcome == span.Failed {
			s.Status = span.StatusError
		}
		if s.End.Before(s.Start.Time) {
			s.End = s.Start
		}
	} else if last := r.t.last(); last != nil {
		s.Message = span.Bound(waitsFor(last))
	}
	s.Attributes = d.attributes(r)
	out := []*span.Span{s}
	s.Events = slices.Grow(s.Events, len(r.writes)+len(r.notes))
	before := d.toldBefore(r)
	for _, w := range r.writes {
		if before(w) {
			continue
		}
		if w.req != nil {
			ws := writeSpan(r.line.id, w.req)
			ws.Parent, ws.Object = s.ID, r.t.ref
			if w.req.ResourceVersion == 0 { // the answer did not tell, the watch did
				//nolint:gosec // etcd revisions are int64
				ws.Attributes = append(ws.Attributes, span.KeyRV.Int64(int64(w.rv)))
			}
			if q := d.audited(w); q != nil {
				ws.Attributes = append(ws.Attributes, userOf(q.Write)...)
			}
			out = append(out, ws)
			continue
		}
		out = d.tell(out, s, r, w)
	}
	for _, w := range r.notes {
		if before(w) {
			continue
		}
		out = d.tell(out, s, r, w)
	}
	for _, w := range r.refused {
		ws := w.span(r.line)
		ws.Parent = s.ID
		out = append(out, ws)
	}
	s.Events = append(s.Events, objectEvents(r)...)
	slices.SortStableFunc(s.Events, func(a, b span.Event) int { return a.Time.Compare(b.Time) })
	boundEvents(s)
	phases := d.phases(r)
	out = slices.Grow(out, len(phases))
	for i := range phases {
		out = append(out, phases[i].span(r, d.start(r)))
	}
	return out
}

// shownAbove returns the next reconciliation above r that its trace tells of, or nil.
func (d *derivation) shownAbove(r *reconciliation) *reconciliation {
	up := r.parent
	for up != nil && d.elsewhere(up) {
		up = up.parent
	}
	return up
}

// maxEvents bounds the events of one span, like the limit of OpenTelemetry.
const maxEvents = 128

// boundEvents keeps the first and the last events of s, and counts those between.
func boundEvents(s *span.Span) {
	n := len(s.Events) - maxEvents
	if n <= 0 {
		return
	}
	s.DroppedEvents = n
	s.Events = slices.Delete(s.Events, maxEvents/2, maxEvents/2+n)
}

// service returns the component that did the work of r. A change that holds at once is that of its
// author.
func (d *derivation) service(r *reconciliation) string {
	if !r.instant {
		return reconciler(r.t)
	}
	return cmp.Or(d.author(r.first()), kind.APIServer)
}

// tell adds a stored write: as a span if the audit log tells of its request,
// and else as a moment on s, which is r's.
func (d *derivation) tell(out []*span.Span, s *span.Span, r *reconciliation, w *write) []*span.Span {
	if q := d.audited(w); q != nil {
		return append(out, w.span(r, q))
	}
	s.Events = append(s.Events, w.event(r))
	return out
}

// phases are the steps of the object's way, by kind.
func (d *derivation) phases(r *reconciliation) []phase {
	last := r.t.last()
	switch {
	case last == nil:
		return nil
	case last.Pod != nil && r.verb == deleted:
		return d.endPhases(r)
	case last.Pod != nil && r.verb == created:
		return d.podPhases(r)
	case last.Pod != nil || kind.Deployment.Is(last.Kind) || kind.ReplicaSet.Is(last.Kind):
		return nil // what they wait for are their dependants
	case kind.Job.Is(last.Kind):
		return append(d.conditionPhases(r), d.retryPauses(r)...)
	}
	return d.conditionPhases(r)
}

// attributes are those of a reconciliation.
func (d *derivation) attributes(r *reconciliation) []attribute.KeyValue {
	var out []attribute.KeyValue
	w := r.last()
	if w.v != nil && w.v.Generation > 0 {
		out = append(out, span.KeyGeneration.Int64(w.v.Generation))
	}
	if a := d.author(r.first()); a != "" {
		out = append(out, span.KeyActor.String(a))
	}
	if q := d.audited(r.first()); q != nil {
		out = append(out, userOf(q.Write)...)
	}
	if paths := r.fields(); len(paths) > 0 {
		out = append(out, span.KeyFields.StringSlice(paths))
	}
	if v := r.first().v; r.evidence == span.ByAnnotation && v != nil && v.TraceConvention != "" {
		out = append(out, span.KeyConvention.String(span.Bound(v.TraceConvention)))
	}
	if sc := r.outside(); sc.IsValid() {
		out = append(out, span.KeyParentSampled.Bool(sc.IsSampled()))
	}
	if r.heals != nil {
		out = append(out, span.KeyHeals.String(span.Bound(r.heals.ref.Kind.Kind+" "+r.heals.ref.Name)))
	}
	if last := r.t.last(); last != nil && last.Pod != nil && last.Pod.Node != "" {
		out = append(out, span.KeyNode.String(last.Pod.Node))
		out = append(out, nodeAttributes(d.engine.nodes[last.Pod.Node])...)
	}
	return out
}

// maxFields bounds the paths of changed fields on one span.
const maxFields = 16

// fields returns the paths of the fields that r's writes changed, in order, without bookkeeping.
func (r *reconciliation) fields() []string {
	var all []string
	for _, w := range r.writes {
		all = append(all, w.changed.paths...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxFields {
		all = append(all[:maxFields-1:maxFields-1], fmt.Sprintf("(%d more)", len(all)-maxFields+1))
	}
	for i, path := range all {
		all[i] = span.Bound(path)
	}
	return all
}

// outside is the context from outside that r goes on from; not valid if there is
// none, or if it is not known any more.
func (r *reconciliation) outside() trace.SpanContext {
	v := r.first().v
	if !r.remote || v == nil {
		return trace.SpanContext{}
	}
	if sc := parseContext(v.TraceParent, v.TraceState); sc.SpanID() == r.above || r.admitted {
		return sc
	}
	return trace.SpanContext{}
}

func nodeAttributes(n *observation.Node) []attribute.KeyValue {
	if n == nil {
		return nil
	}
	var out []attribute.KeyValue
	for _, kv := range []attribute.KeyValue{
		attribute.String("cloud.availability_zone", span.Bound(n.Zone)),
		attribute.String("cloud.region", span.Bound(n.Region)),
		attribute.String("host.type", span.Bound(n.InstanceType)),
	} {
		if kv.Value.AsString() != "" {
			out = append(out, kv)
		}
	}
	return out
}

// event records a stored write as a moment on r's span.
func (w *write) event(r *reconciliation) span.Event {
	attrs := append(make([]attribute.KeyValue, 0, 4),
		span.KeyVerb.String(string(w.verb)), span.KeyPart.String(string(w.part)),
		span.KeyRV.Int64(int64(w.rv))) //nolint:gosec // etcd revisions are int64
	if a := w.actor(); a != "" {
		attrs = append(attrs, span.KeyActor.String(a))
	}
	if w.t != r.t {
		attrs = append(
			attrs,
			span.KeyKind.String(w.t.ref.Kind.Kind),
			span.KeyName.String(span.Bound(w.t.ref.Name)),
			span.KeyUID.String(string(w.t.ref.UID)),
		)
	}
	if w.reconstructed {
		attrs = append(attrs, span.KeyTimeEnd.String(string(span.TimeObject)))
	}
	return span.Event{Time: w.at.at().Time, Name: span.EventWrite, Attributes: attrs}
}

// writeSpan makes the span of a write whose request was seen.
func writeSpan(id trace.TraceID, req *observation.Write) *span.Span {
	name := string(requestVerb(req))
	if req.Failed() {
		name = requestedVerb(req.Verb)
	}
	s := &span.Span{
		TraceID: id, ID: parseContext(req.TraceParent, "").SpanID(),
		Name: name + " " + req.Kind.Kind, Service: clientOf(req.UserAgent), Object: req.Ref,
		Start:    span.Time{Time: req.Start, Source: span.TimeRequest},
		End:      span.Time{Time: req.End, Source: span.TimeRequest},
		Evidence: span.ByRequest,
		Attributes: []attribute.KeyValue{
			span.KeyVerb.String(req.Verb), span.KeyStatusCode.Int(req.Code),
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
		s.Status, s.Outcome = span.StatusError, span.Failed
		s.Message = span.Bound(refusalText(req))
	}
	return s
}

func requestedVerb(v string) string {
	switch v {
	case "patch", "apply":
		return string(updated)
	case "deletecollection":
		return string(deleted)
	}
	return v
}
