// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxPublications bounds the Services of one Pod.
	maxPublications = 4
	// maxStrangers bounds the endpoints without a known Pod.
	maxStrangers = 1 << 14
	// maxUnpublished is the time after the handout of a Pod's trace for which a publication is added
	// to that trace.
	maxUnpublished = time.Minute
)

// endpoint holds the publications of one Pod as an endpoint. It is a shared look-up (rule G2): an
// EndpointSlice connects no groups. It is kept until the creation of the Pod has been handed out. For a
// Pod without a publication by then, it is kept for a minute more.
type endpoint struct {
	// of are the publications in order of their Services. More than maxPublications are never kept.
	of []change.Publication
	// seen is the time of the last new publication.
	seen time.Time
	// handedOut is the handed-out reconciliation of a Pod without a publication by then, or nil.
	handedOut *handedOutPod
}

// handedOutPod is the handed-out creation of a Pod.
type handedOutPod struct {
	ref  *object.Ref
	line trace.TraceID
	span trace.SpanID
	// ready is the time and rv the resourceVersion of its readiness.
	ready history.Moment
	rv    uint64
	// at is the time of the handout.
	at time.Time
}

// add adds p and reports whether it changed anything. The order of calls does not matter.
func (e *endpoint) add(p *change.Publication) bool {
	i, found := slices.BinarySearchFunc(e.of, p.Service, func(known change.Publication, name string) int {
		return cmp.Compare(known.Service, name)
	})
	switch {
	case found && !p.Better(&e.of[i]):
		return false
	case found:
		p.HandedOut = e.of[i].HandedOut
		e.of[i] = *p
		return true
	case i == maxPublications:
		return false
	}
	e.of = slices.Insert(e.of, i, *p)
	e.of = e.of[:min(len(e.of), maxPublications)]
	return true
}

// publish records the new endpoints of o, a version of an EndpointSlice. before is the version of the
// slice before it, or nil. newest means that no later version is known. An older version may improve
// what is known.
func (e *Engine) publish(o *observation.Observation, before *observation.Endpoints, newest bool) {
	s := o.State
	if s.Endpoints.Service == "" {
		return
	}
	p := change.Publication{
		Service: s.Endpoints.Service, RV: s.ResourceVersion, At: publishedAt(o), Baseline: o.Baseline,
	}
	if owner := object.ControllerOf(s.Owners); owner != nil && kind.Service.Is(owner.Kind) {
		p.Owner = owner.UID
	}
	for key := range s.Endpoints.Keys(before) {
		known := e.endpoints[key]
		if known == nil {
			// An endpoint from before the start gives no phase.
			if e.pods[key] == nil && (p.Baseline || len(e.endpoints) >= maxStrangers) {
				continue
			}
			known = &endpoint{}
			e.endpoints[key] = known
		}
		e.publishOne(key, known, p, o.Seen)
	}
	if newest {
		return
	}
	for key := range s.Endpoints.Keys(nil) {
		if known := e.endpoints[key]; known != nil {
			e.publishOne(key, known, p, o.Seen)
		}
	}
}

// publishOne adds a publication to those of a Pod.
func (e *Engine) publishOne(key observation.EndpointKey, of *endpoint, p change.Publication, seen time.Time) {
	if !of.add(&p) {
		return
	}
	of.seen = history.Later(of.seen, seen)
	switch t := e.pods[key]; {
	case of.handedOut != nil:
		e.published = append(e.published, key)
	case t != nil && e.groups.of[t] != nil:
		e.groups.of[t].change()
		e.groups.of[t].forget(t)
	}
}

// endpointsBefore returns the endpoints of an EndpointSlice before the version rv, or nil, and whether
// all known versions are older. Versions before a folded one have the endpoints of that one.
func endpointsBefore(t *change.Timeline, rv uint64) (before *observation.Endpoints, newest bool) {
	i, _ := t.Position(rv)
	switch {
	case i > 0:
		before = t.Versions[i-1].Endpoints
	case t.Folded && len(t.Versions) > 0:
		before = t.Versions[0].Endpoints
	}
	return before, i == len(t.Versions)
}

// publishedAt returns the time of the version in o, as history.Arrival does.
func publishedAt(o *observation.Observation) history.Moment {
	m := history.Moment{Hi: o.Seen, Live: !o.Listed}
	for i := range o.State.Managers {
		if at := o.State.Managers[i].Time; o.Listed && at.After(m.Lo) && !at.After(m.Hi) {
			m.Lo = at
		}
	}
	return m
}

// first completes the look-ups with the object of t, which has a first version now. The creation of a
// Service limits the waits of its Pods.
func (e *Engine) first(t *change.Timeline) {
	switch {
	case kind.EndpointSlice.Is(t.Ref.Kind):
		e.slices[t.Ref.Namespace]++
	case kind.Service.Is(t.Ref.Kind) && !t.Versions[0].Baseline:
		e.changedService(t.Ref.UID)
	}
}

// changedService marks the Pods of a Service as changed: the creation of the Service is known now, or no
// longer.
func (e *Engine) changedService(service types.UID) {
	for key, known := range e.endpoints {
		if !known.by(service) {
			continue
		}
		if pod := e.pods[key]; pod != nil && e.groups.of[pod] != nil {
			e.groups.of[pod].change()
			e.groups.of[pod].forget(pod)
		}
	}
}

// by reports whether the Service with that UID publishes the Pod.
func (e *endpoint) by(service types.UID) bool {
	return slices.ContainsFunc(e.of, func(p change.Publication) bool { return p.Owner == service })
}

// leave removes the object of t from the look-ups.
func (e *Engine) leave(t *change.Timeline) {
	switch {
	case kind.EndpointSlice.Is(t.Ref.Kind) && len(t.Versions) > 0:
		if e.slices[t.Ref.Namespace]--; e.slices[t.Ref.Namespace] == 0 {
			delete(e.slices, t.Ref.Namespace)
		}
	case kind.Service.Is(t.Ref.Kind):
		e.changedService(t.Ref.UID)
	case kind.Pod.Is(t.Ref.Kind):
		e.inactive(t)
		delete(e.endpoints, keyOfPod(t))
	}
}

// active and inactive note that the Pod of t is a member of a group, or of none.
func (e *Engine) active(t *change.Timeline) {
	if kind.Pod.Is(t.Ref.Kind) {
		e.pods[keyOfPod(t)] = t
	}
}

func (e *Engine) inactive(t *change.Timeline) {
	if kind.Pod.Is(t.Ref.Kind) {
		delete(e.pods, keyOfPod(t))
	}
}

func keyOfPod(t *change.Timeline) observation.EndpointKey {
	return observation.KeyOfEndpoint(t.Ref.Namespace, t.Ref.UID)
}

// Published returns the publications of the Pod of t as an endpoint, in order of their Services.
func (d *derivation) Published(t *change.Timeline) []phase.Publication {
	if len(d.engine.endpoints) == 0 {
		return nil
	}
	known := d.engine.endpoints[keyOfPod(t)]
	if known == nil {
		return nil
	}
	return d.engine.withCreation(known.of)
}

// withCreation adds the creation of their Services to publications.
func (e *Engine) withCreation(all []change.Publication) []phase.Publication {
	out := make([]phase.Publication, len(all))
	for i := range all {
		out[i].Publication = all[i]
		if up := e.object(all[i].Owner); up != nil && len(up.Versions) > 0 {
			out[i].Created = up.Versions[0].Created
		}
	}
	return out
}

// handOutPublications records the handout of r. The publications of its Pod are not needed any more. If
// there are none, a late one may follow.
func (e *Engine) handOutPublications(d *derivation, r *change.Reconciliation, now time.Time) {
	v := r.ConvergedBy(^uint64(0))
	if v == nil || v.Pod == nil || r.Verb != history.Created || r.Folded {
		return
	}
	key := keyOfPod(r.Timeline)
	switch known := e.endpoints[key]; {
	case known != nil && known.handedOut == nil:
		delete(e.endpoints, key)
	case known != nil, v.Baseline, r.Timeline.Removal != nil, !r.First().Arrived.IsZero(),
		e.slices[r.Timeline.Ref.Namespace] == 0:
	default:
		e.endpoints[key] = &endpoint{handedOut: &handedOutPod{
			ref: &r.Timeline.Ref, line: r.Lineage.ID, span: r.ID(), at: now,
			ready: phase.Ready(d, r.Timeline, v), rv: v.ResourceVersion,
		}}
	}
}

// latePublications adds the publications since the handout of their Pods as late spans.
func (e *Engine) latePublications() {
	slices.Sort(e.published)
	for _, key := range slices.Compact(e.published) {
		known := e.endpoints[key]
		if known == nil || known.handedOut == nil {
			continue
		}
		var late []change.Publication
		for i := range known.of {
			p := &known.of[i]
			if !p.HandedOut && p.At.Hi.Sub(known.handedOut.at) <= maxUnpublished {
				late = append(late, *p)
			}
			p.HandedOut = true
		}
		if spans := known.handedOut.spans(e.withCreation(late)); len(spans) > 0 {
			e.add(known.handedOut.line, spans)
		}
	}
	e.published = nil
}

// pendingPublications restores the list of late publications.
func (e *Engine) pendingPublications() {
	for key, known := range e.endpoints {
		if known.handedOut != nil &&
			slices.ContainsFunc(known.of, func(p change.Publication) bool { return !p.HandedOut }) {
			e.published = append(e.published, key)
		}
	}
}

// spans returns the late spans of the publications of the Pod.
func (p *handedOutPod) spans(all []phase.Publication) []*span.Span {
	w := &change.Write{Verb: history.Created}
	r := &change.Reconciliation{
		Timeline: &change.Timeline{Record: history.Record{Ref: *p.ref}}, Lineage: &change.Lineage{ID: p.line},
		SpanID: p.span, Verb: history.Created, Writes: []*change.Write{w},
	}
	spans := phase.Spans(nil, phase.Published(nil, p.ready, p.rv, all), r, p.ready)
	for _, s := range spans {
		s.Attributes = append(s.Attributes, span.KeyLate.Bool(true))
	}
	return spans
}

// forgetEndpoints forgets the endpoints that no trace needs any more: those of Pods handed out a
// minute ago, and old ones of Pods in no group.
func (e *Engine) forgetEndpoints(now time.Time) {
	for key, known := range e.endpoints {
		t := e.pods[key]
		switch {
		case known.handedOut != nil && now.Sub(known.handedOut.at) <= maxUnpublished:
		case known.handedOut == nil && t != nil && t.Past == nil:
		case known.handedOut == nil && now.Sub(known.seen) <= retention:
		default:
			delete(e.endpoints, key)
		}
	}
}
