// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

// work is one reconcile or one admission request, from start to return. It determines its trace as
// late as possible, because most reconciles do nothing and must not cost anything (L3).
type work struct {
	kit   *Kit
	name  string // of the span
	mode  Mode
	kind  schema.GroupVersionKind
	key   client.ObjectKey
	obj   client.Object // cached object at the start; read-only; nil if unknown
	start time.Time

	mu        sync.Mutex
	placed    bool
	settled   bool // the object had converged at the start
	context   trace.SpanContext
	parent    trace.SpanContext // invalid if self is a root
	self      trace.SpanContext
	linked    trace.SpanContext // in link mode, the context that self's trace links to
	links     []trace.Link
	bag       baggage.Baggage
	packed    bool // bag is loaded from the object
	loose     bool // no reconcile, only a span of the caller
	episode   episode
	begins    bool // self is the root of the episode
	held      []record
	lost      int               // records dropped because held was full
	left      bool              // the work will have a span
	over      bool              // the work has returned
	made      trace.SpanContext // context of the emitted span
	reads     map[objectKey]seen
	wrote     bool // something was written, perhaps only a status
	triggered []trigger
	missed    int
}

type workKey struct{}

func withWork(ctx context.Context, w *work) context.Context {
	return context.WithValue(ctx, workKey{}, w)
}

// workOf returns the work in ctx; nil if there is none.
func workOf(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	return w
}

// place determines the trace of the work. The caller holds mu.
func (w *work) place() {
	if w.placed {
		return
	}
	w.placed = true
	why := ""
	if w.obj != nil {
		w.context, why = read(w.kind, w.obj)
	}
	if w.obj != nil {
		w.adopt(why)
	}
	if w.kit.links && w.mode == Record && w.parent.IsValid() {
		w.detach()
	}
	w.identify()
	w.linkTriggers()
}

// pack loads the baggage of the object. Only writes need it, so other works avoid the cost. The
// caller holds mu.
func (w *work) pack() {
	if !w.packed && w.obj != nil {
		w.bag = baggage.FromContext(lifeline.Context(context.Background(), w.obj))
	}
	w.packed = true
}

// adopt chooses parent and links. The parent is the open episode, or the object's context if that
// stands for the current work. Otherwise a new episode begins.
func (w *work) adopt(why string) {
	deleting := !w.obj.GetDeletionTimestamp().IsZero()
	w.episode = episode{generation: w.obj.GetGeneration(), context: w.context.SpanID(), deleting: deleting}
	ep, open := w.kit.episodes.of(w.subject())
	same := open && ep.like(w.episode)
	w.settled = !deleting && (same && !ep.root.IsValid() || w.kit.converged(w.obj))
	switch {
	case why != "":
	case deleting:
		why = linkDeletion
	case w.settled:
		why = linkHealing
	}
	switch {
	case same && ep.root.IsValid():
		w.parent, w.episode = ep.root, ep
	case w.context.IsValid() && why == "":
		w.parent = w.context
	default:
		w.begins = true
		if w.context.IsValid() {
			w.link(w.context, why)
		}
	}
}

// subject identifies the object within this controller. Episodes are separate per controller.
func (w *work) subject() types.UID {
	return types.UID(w.name+"/") + w.obj.GetUID()
}

// detach turns the work's span into a root that links to its former parent. All reconciles for one
// context share a trace, so contexts derived from it stay the same.
func (w *work) detach() {
	why := linkObject
	if w.parent.SpanID() == w.episode.root.SpanID() {
		why = linkEpisode
	}
	w.link(w.parent, why)
	w.linked = w.parent
	w.parent = trace.SpanContext{}
}

// identify sets the work's own span context.
func (w *work) identify() {
	cfg := trace.SpanContextConfig{SpanID: planned.NewSpanID()}
	switch {
	case w.parent.IsValid():
		cfg.TraceID, cfg.TraceFlags = w.parent.TraceID(), w.parent.TraceFlags()
		cfg.TraceState = lifeline.Unclaimed(w.parent).TraceState()
	case w.linked.IsValid():
		cfg.TraceID, cfg.TraceFlags = linkedTraceID(w.linked, w.name, w.key), w.linked.TraceFlags()
	default:
		cfg.TraceID = planned.NewTraceID()
		if w.context.IsSampled() || w.kit.exact != nil && w.kit.exact.SampleRoot(cfg.TraceID) {
			cfg.TraceFlags = trace.FlagsSampled
		}
	}
	w.self = trace.NewSpanContext(cfg)
}

// link adds a link, once per span.
func (w *work) link(sc trace.SpanContext, why string) {
	for _, l := range w.links {
		if supply.SameSpan(l.SpanContext, sc) {
			return
		}
	}
	w.links = append(w.links, trace.Link{
		SpanContext: lifeline.Unclaimed(sc),
		Attributes:  []attribute.KeyValue{attribute.String("lifeline.link", why)},
	})
}

// linkTriggers adds links to further triggers of this work: several changes merged into one
// reconcile (L2). Triggers in the same trace need no link.
func (w *work) linkTriggers() {
	for _, t := range w.triggered {
		if t.context.IsValid() && t.context.TraceID() != w.self.TraceID() && t.context.TraceID() != w.parent.TraceID() {
			w.link(t.context, linkTrigger)
		}
	}
}

// logged returns the span context for log lines. Before the first write it is the object's context.
func (w *work) logged() trace.SpanContext {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.placed && w.exact():
		return w.self
	case w.placed:
		return w.parent
	case w.obj != nil:
		return lifeline.Extract(w.obj)
	}
	return trace.SpanContext{}
}

// exact reports whether spans can have planned IDs.
func (w *work) exact() bool { return w.kit.exact != nil && w.mode == Record }

// next returns the span context for a write without a new context. The caller holds mu.
func (w *work) next() trace.SpanContext {
	switch {
	case w.exact():
		return w.self.WithSpanID(planned.NewSpanID())
	case w.parent.IsValid():
		return lifeline.Unclaimed(w.parent)
	}
	return lifeline.Unclaimed(w.linked)
}

// upcoming is next for callers without mu.
func (w *work) upcoming() trace.SpanContext {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place()
	return w.next()
}

// owns reports whether the object is the reconciled one.
func (w *work) owns(gvk schema.GroupVersionKind, key client.ObjectKey) bool {
	return !w.loose && gvk.GroupKind() == w.kind.GroupKind() && key == w.key
}

// loose returns a work for a caller outside reconciles that has a span; nil without a span.
func (k *Kit) loose(ctx context.Context, mode Mode) *work {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return nil
	}
	return &work{
		kit: k, mode: mode, start: k.clock.Now(), placed: true, loose: true, left: true,
		parent: sc, self: sc, bag: baggage.FromContext(ctx),
	}
}

// offer returns the context for a write of this work. Without exact IDs, it is the context that the
// work follows from, because that context has a span.
func (w *work) offer(child lifeline.Child) trace.SpanContext {
	if !w.exact() {
		from := w.parent
		if !from.IsValid() {
			from = w.linked
		}
		if !from.IsValid() {
			return trace.SpanContext{}
		}
		above, _ := lifeline.ClaimOf(from)
		return lifeline.Claimed(from, lifeline.Claim{
			Parent:     from.SpanID(),
			Object:     child.Hash(),
			Digest:     child.Digest,
			Generation: child.Generation,
			Time:       above.Time,
		})
	}
	// The context is derived from the work's parent. It is not derived from the work's own span,
	// which differs in each reconcile. So the same child written again for the same reason carries
	// the same context.
	switch {
	case w.parent.IsValid():
		return lifeline.Derive(w.parent, child)
	case w.linked.IsValid():
		child.Linked = w.linked
		above := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: w.self.TraceID(), SpanID: w.linked.SpanID(), TraceFlags: w.self.TraceFlags(),
		})
		return lifeline.Derive(above, child)
	}
	sc := lifeline.Derive(w.self, child)
	claim, _ := lifeline.ClaimOf(sc)
	if claim.Time.IsZero() {
		claim.Time = w.start
	}
	return lifeline.Claimed(sc, claim)
}

// anchored returns an Offer whose context for a child depends only on the child and the context of
// the reconciled object. Otherwise an apply to an object of unknown state would write a new context
// with every healing. nil means that offer is used unchanged.
func (w *work) anchored() supply.Offer {
	if !w.settled || w.kit.links || !w.exact() || !w.context.IsValid() {
		return nil
	}
	if _, why := read(w.kind, w.obj); why != "" {
		return nil
	}
	return func(child lifeline.Child) trace.SpanContext { return lifeline.Derive(w.context, child) }
}

// linkedTraceID returns the trace ID for all reconciles of one object for one context, in link
// mode.
func linkedTraceID(sc trace.SpanContext, name string, key client.ObjectKey) trace.TraceID {
	traceID, spanID := sc.TraceID(), sc.SpanID()
	b := make([]byte, 0, 128)
	b = append(b, traceID[:]...)
	b = append(b, spanID[:]...)
	b = append(b, name...)
	b = append(append(append(b, 0), key.Namespace...), 0)
	b = append(b, key.Name...)
	sum := sha256.Sum256(b)
	id := trace.TraceID(sum[:16])
	if !id.IsValid() {
		id[15] = 1
	}
	return id
}
