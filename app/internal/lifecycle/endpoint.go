// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
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

// endpoints holds the publications of Pods as endpoints. It is a shared look-up (rule G2): an EndpointSlice connects
// no groups.
type endpoints struct {
	known index.View
	byKey map[observation.EndpointKey]*endpoint
	// pending are the Pods with a publication after their handout.
	pending []observation.EndpointKey
	// pods are the Pods in groups, by their keys in EndpointSlices. slices are the numbers of known
	// EndpointSlices, by namespace.
	pods   map[observation.EndpointKey]*change.Timeline
	slices map[string]int
}

func newEndpoints(known index.View) *endpoints {
	return &endpoints{
		known: known, byKey: map[observation.EndpointKey]*endpoint{},
		pods: map[observation.EndpointKey]*change.Timeline{}, slices: map[string]int{},
	}
}

// endpoint holds the publications of one Pod. It is kept until the creation of the Pod has been handed out. For a
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
	ref  object.Ref
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

// publish records the new endpoints of o, a version of the EndpointSlice t that t does not have yet. It returns the
// Pods with a new publication. An older version may improve what is known.
func (es *endpoints) publish(t *change.Timeline, o *observation.Observation) (changed []*change.Timeline) {
	s := o.State
	if s.Endpoints.Service == "" {
		return nil
	}
	before, newest := endpointsBefore(t, s.ResourceVersion)
	p := change.Publication{
		Service: s.Endpoints.Service, RV: s.ResourceVersion, At: publishedAt(o), Baseline: o.Baseline,
	}
	if owner := object.ControllerOf(s.Owners); owner != nil && kind.Service.Is(owner.Kind) {
		p.Owner = owner.UID
	}
	for key := range s.Endpoints.Keys(before) {
		known := es.byKey[key]
		if known == nil {
			// An endpoint from before the start gives no phase.
			if es.pods[key] == nil && (p.Baseline || len(es.byKey) >= maxStrangers) {
				continue
			}
			known = &endpoint{}
			es.byKey[key] = known
		}
		changed = es.publishOne(changed, key, known, p, o.Seen)
	}
	if newest {
		return changed
	}
	for key := range s.Endpoints.Keys(nil) {
		if known := es.byKey[key]; known != nil {
			changed = es.publishOne(changed, key, known, p, o.Seen)
		}
	}
	return changed
}

// publishOne adds a publication to those of a Pod, and the Pod to changed.
func (es *endpoints) publishOne(
	changed []*change.Timeline, key observation.EndpointKey, of *endpoint, p change.Publication, seen time.Time,
) []*change.Timeline {
	if !of.add(&p) {
		return changed
	}
	of.seen = history.Later(of.seen, seen)
	if of.handedOut != nil {
		es.pending = append(es.pending, key)
		return changed
	}
	if t := es.pods[key]; t != nil {
		return append(changed, t)
	}
	return changed
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
// Service limits the waits of its Pods, which are returned.
func (es *endpoints) first(t *change.Timeline) []*change.Timeline {
	switch {
	case kind.EndpointSlice.Is(t.Ref.Kind):
		es.slices[t.Ref.Namespace]++
	case kind.Service.Is(t.Ref.Kind) && !t.Versions[0].Baseline:
		return es.podsOf(t.Ref.UID)
	}
	return nil
}

// podsOf returns the Pods of a Service. They change when its creation becomes known, or is forgotten.
func (es *endpoints) podsOf(service types.UID) []*change.Timeline {
	var out []*change.Timeline
	for key, known := range es.byKey {
		if pod := es.pods[key]; pod != nil && known.by(service) {
			out = append(out, pod)
		}
	}
	return out
}

// by reports whether the Service with that UID publishes the Pod.
func (e *endpoint) by(service types.UID) bool {
	return slices.ContainsFunc(e.of, func(p change.Publication) bool { return p.Owner == service })
}

// leave removes the object of t from the look-ups. It returns the Pods that change with it.
func (es *endpoints) leave(t *change.Timeline) []*change.Timeline {
	switch {
	case kind.EndpointSlice.Is(t.Ref.Kind) && len(t.Versions) > 0:
		if es.slices[t.Ref.Namespace]--; es.slices[t.Ref.Namespace] == 0 {
			delete(es.slices, t.Ref.Namespace)
		}
	case kind.Service.Is(t.Ref.Kind):
		return es.podsOf(t.Ref.UID)
	case kind.Pod.Is(t.Ref.Kind):
		es.inactive(t)
		delete(es.byKey, keyOfPod(t))
	}
	return nil
}

// active and inactive note that the Pod of t is a member of a group, or of none.
func (es *endpoints) active(t *change.Timeline) {
	if kind.Pod.Is(t.Ref.Kind) {
		es.pods[keyOfPod(t)] = t
	}
}

func (es *endpoints) inactive(t *change.Timeline) {
	if kind.Pod.Is(t.Ref.Kind) {
		delete(es.pods, keyOfPod(t))
	}
}

func keyOfPod(t *change.Timeline) observation.EndpointKey {
	return observation.KeyOfEndpoint(t.Ref.Namespace, t.Ref.UID)
}

// published returns the publications of the Pod of t as an endpoint, in order of their Services.
func (es *endpoints) published(t *change.Timeline) []phase.Publication {
	if len(es.byKey) == 0 {
		return nil
	}
	known := es.byKey[keyOfPod(t)]
	if known == nil {
		return nil
	}
	return es.withCreation(known.of)
}

// withCreation adds the creation of their Services to publications.
func (es *endpoints) withCreation(all []change.Publication) []phase.Publication {
	out := make([]phase.Publication, len(all))
	for i := range all {
		out[i].Publication = all[i]
		if up := es.known.Object(all[i].Owner); up != nil && len(up.Versions) > 0 {
			out[i].Created = up.Versions[0].Created
		}
	}
	return out
}

// handOut records the handout of r. The publications of its Pod are not needed any more. If
// there are none, a late one may follow.
func (es *endpoints) handOut(times phase.Times, r *change.Reconciliation, now time.Time) {
	v := r.ConvergedBy(^uint64(0))
	if v == nil || v.Pod == nil || r.Verb != history.Created || r.Folded {
		return
	}
	key := keyOfPod(r.Timeline)
	switch known := es.byKey[key]; {
	case known != nil && known.handedOut == nil:
		delete(es.byKey, key)
	case known != nil, v.Baseline, r.Timeline.Removal != nil, !r.First().Arrived.IsZero(),
		es.slices[r.Timeline.Ref.Namespace] == 0:
	default:
		es.byKey[key] = &endpoint{handedOut: &handedOutPod{
			ref: r.Timeline.Ref, line: r.Lineage.ID, span: r.ID(), at: now,
			ready: phase.Ready(times, r.Timeline, v), rv: v.ResourceVersion,
		}}
	}
}

// late returns the late spans of the publications since the handout of their Pods, by trace.
func (es *endpoints) late() iter.Seq2[trace.TraceID, []*span.Span] {
	return func(yield func(trace.TraceID, []*span.Span) bool) {
		slices.Sort(es.pending)
		for _, key := range slices.Compact(es.pending) {
			known := es.byKey[key]
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
			if spans := known.handedOut.spans(es.withCreation(late)); len(spans) > 0 {
				yield(known.handedOut.line, spans)
			}
		}
		es.pending = nil
	}
}

// restorePending restores the list of late publications.
func (es *endpoints) restorePending() {
	for key, known := range es.byKey {
		if known.handedOut != nil &&
			slices.ContainsFunc(known.of, func(p change.Publication) bool { return !p.HandedOut }) {
			es.pending = append(es.pending, key)
		}
	}
}

// shrink copies the maps, to free the memory of deleted entries.
func (es *endpoints) shrink() { es.pods, es.byKey = shrunk(es.pods), shrunk(es.byKey) }

// spans returns the late spans of the publications of the Pod.
func (p *handedOutPod) spans(all []phase.Publication) []*span.Span {
	w := &change.Write{Verb: history.Created}
	r := &change.Reconciliation{
		Timeline: &change.Timeline{Record: history.Record{Ref: p.ref}}, Lineage: &change.Lineage{ID: p.line},
		SpanID: p.span, Verb: history.Created, Writes: []*change.Write{w},
	}
	spans := phase.Spans(nil, phase.Published(nil, p.ready, p.rv, all), r, p.ready)
	for _, s := range spans {
		s.Attributes = append(s.Attributes, span.KeyLate.Bool(true))
	}
	return spans
}

// forget forgets the endpoints that no trace needs any more: those of Pods handed out a
// minute ago, and old ones of Pods in no group.
func (es *endpoints) forget(now time.Time) {
	for key, known := range es.byKey {
		t := es.pods[key]
		switch {
		case known.handedOut != nil && now.Sub(known.handedOut.at) <= maxUnpublished:
		case known.handedOut == nil && t != nil && t.Past == nil:
		case known.handedOut == nil && now.Sub(known.seen) <= maxAge:
		default:
			delete(es.byKey, key)
		}
	}
}
