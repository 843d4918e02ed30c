// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

// call is one write, from before its request is sent to after it was answered.
type call struct {
	work      *work
	ctx       context.Context //nolint:containedctx // of this very request
	gvk       schema.GroupVersionKind
	key       objectKey
	verb, sub string
	start     time.Time

	cached     client.Object // what the informer holds, if there is one; not written to
	whole      bool
	read       seen    // what the work has read without an informer; its version is empty if nothing
	last       written // what this process wrote last
	remembered bool

	version    string // resourceVersion before the write; "" if not known
	uid        types.UID
	collection bool
	manager    string // who owns the fields that are written; empty if not known
	applies    bool   // by server-side apply
	force      bool   // what others have set, too
	decided    supply.Verdict
	try        try               // of the new context; zero if there is none
	again      bool              // there is a span of the new context already
	context    trace.SpanContext // of the write's span
}

// begin prepares a write; nil if it is not to be traced.
func (t *tracedClient) begin(ctx context.Context, verb, sub string, obj client.Object, dryRun bool) *call {
	mode := t.kit.mode()
	if dryRun || mode == Off {
		return nil
	}
	w := workOf(ctx)
	if w == nil {
		if w = t.kit.loose(ctx, mode); w == nil {
			return nil
		}
	}
	gvk, err := t.GroupVersionKindFor(obj)
	if err != nil {
		return nil
	}
	c := &call{
		work:    w,
		gvk:     gvk,
		verb:    verb,
		sub:     sub,
		start:   t.kit.clock.Now(),
		version: obj.GetResourceVersion(),
		uid:     obj.GetUID(),
		key:     objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)},
	}
	c.cached, c.whole = t.kit.informers.object(gvk, c.key.ObjectKey)
	if c.cached != nil && c.uid == "" {
		c.uid = c.cached.GetUID()
	}
	c.last, c.remembered = t.kit.writes.of(c.key)
	if c.remembered && c.uid != "" && c.last.uid != "" && c.uid != c.last.uid {
		c.last, c.remembered = written{}, false // of a namesake
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place()
	w.pack()
	c.read = w.reads[c.key]
	c.use(ctx, w.next())
	return c
}

// use makes sc the span context of the write and of its request.
func (c *call) use(ctx context.Context, sc trace.SpanContext) {
	c.context = sc
	ctx = trace.ContextWithSpanContext(ctx, sc)
	if c.work.bag.Len() > 0 {
		ctx = baggage.ContextWithBaggage(ctx, c.work.bag)
	}
	c.ctx = ctx
}

// stamped takes up what was decided; a new context is that of the write's span,
// unless it is another's already.
func (c *call) stamped(v supply.Verdict) {
	c.decided = v
	if v.Context.IsValid() && !c.again {
		c.use(c.ctx, lifeline.Unclaimed(v.Context))
	}
}

// supply returns the rules for this write.
func (c *call) supply(obj client.Object) supply.Rules {
	id := identity(c.gvk, obj)
	if id.UID == "" && c.verb != "create" {
		id.UID = string(c.uid)
	}
	return supply.Rules{Convention: c.work.kit.convention, ID: id, Bag: c.work.bag, Offer: c.offer}
}

// offer makes a new context for this write: no other write's, but for that of an
// apply, which must not differ from one time to the next.
func (c *call) offer(child lifeline.Child) trace.SpanContext {
	sc := c.work.offer(child)
	if !c.work.exact() || !sc.IsValid() {
		return sc
	}
	c.try = try{sc.TraceID(), sc.SpanID()}
	n := c.work.kit.writes.tries.next(c.try)
	if c.applies {
		c.again = n > 0
	} else if n > 0 {
		child.Attempt = n
		sc = c.work.offer(child)
	}
	return sc
}

// create decides for an object that is created.
func (c *call) create(obj client.Object) {
	s := c.supply(obj)
	sent := supply.Content{Annotations: obj.GetAnnotations(), Desired: stateOf(obj).Desired()}
	c.stamped(s.Created(sent, c.work.context))
	obj.SetAnnotations(s.With(sent.Annotations, c.decided.Carry))
}

// update decides for an object that is written as a whole. The work's own
// object is not given a context by its own controller.
func (c *call) update(obj client.Object) {
	s := c.supply(obj)
	sent := supply.Content{Annotations: obj.GetAnnotations(), Desired: stateOf(obj).Desired()}
	if c.work.owns(c.gvk, c.key.ObjectKey) {
		s.Offer = supply.Nothing
	}
	before, known := c.before()
	switch {
	case known:
		c.stamped(s.Updated(before, sent, false))
	case c.remembered && !c.last.blank && (c.version == "" || c.version == c.last.version):
		c.stamped(s.Recalled(supply.Last{Answered: c.last.answered, Sent: c.last.sent, Carried: c.last.carried}, sent))
	default:
		c.decided = supply.Verdict{Carry: s.Own(sent.Annotations), Digest: sent.Desired.Digest()}
	}
	obj.SetAnnotations(s.With(sent.Annotations, c.decided.Carry))
}

// before is what the object was before the write, if that is known for certain:
// from an informer, or from what the work has read without one.
func (c *call) before() (supply.Content, bool) {
	if held, known := c.held(); known {
		return held, true
	}
	r := c.read
	if r.version == "" || c.version != "" && c.version != r.version || c.behind(r.version) {
		return supply.Content{}, false
	}
	return r.content, true
}

// held is what an informer holds of the object, if it is neither behind this
// process's own last write nor other than what the caller has read.
func (c *call) held() (supply.Content, bool) {
	if c.cached == nil || !c.whole {
		return supply.Content{}, false
	}
	cached := c.cached.GetResourceVersion()
	if c.version != "" && c.version != cached || c.behind(cached) {
		return supply.Content{}, false
	}
	return supply.Content{
		Annotations: c.cached.GetAnnotations(),
		Desired:     stateOf(c.cached).Desired(),
		Generation:  c.cached.GetGeneration(),
	}, true
}

// behind reports whether a version is older than what this process wrote last.
func (c *call) behind(version string) bool {
	return c.remembered && c.last.version != "" && newer(c.last.version, version)
}

// newer reports whether a resourceVersion is later than another; of two that
// cannot be compared, each counts as later.
func newer(a, b string) bool {
	x, err1 := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	if err1 != nil || err2 != nil {
		return a != b
	}
	return x > y
}

// end takes up what the write came to. answer is the object as the API server
// returned it, nil if it did not.
func (c *call) end(err error, answer client.Object) {
	now := c.work.kit.clock.Now()
	e := c.effect(err, answer)
	c.learn(err, answer, now)
	if err != nil && c.repeats(err) {
		c.work.kit.writes.tries.undo(c.try)
		c.context = c.context.WithSpanID(planned.NewSpanID())
	}
	if e == nothing {
		return
	}
	name := c.verb + " " + c.gvk.Kind
	if c.sub != "" {
		name += "/" + c.sub
	}
	r := record{name: name, context: c.context, start: c.start, end: now, err: err}
	if c.context.IsSampled() || !c.work.exact() {
		r.attributes = c.attributes(err, answer)
	}
	c.work.write(r, e)
}

// repeats reports whether the context of a write that failed will be sent again:
// always that of an apply, and that of a change that was stored perhaps, for if
// it was, the next try must be a no-op. The span is then not of that context.
func (c *call) repeats(err error) bool {
	if c.try == (try{}) || c.again {
		return false
	}
	var status apierrors.APIStatus
	refused := errors.As(err, &status) && status.Status().Code/100 == 4
	return c.applies || c.verb != "create" && !refused
}

// effect tells what the write came to.
func (c *call) effect(err error, answer client.Object) effect {
	switch {
	case apierrors.IsNotFound(err), c.verb == "create" && apierrors.IsAlreadyExists(err):
		return benign
	case err != nil:
		return failed
	case c.collection:
		return benign
	case c.verb == "delete" && c.cached != nil && !c.cached.GetDeletionTimestamp().IsZero() && (c.uid == "" || c.uid == c.cached.GetUID()):
		return nothing // it was going already
	case c.verb == "delete", c.verb == "create" && c.sub == "":
		return changed
	case answer != nil && !c.differs(answer):
		return nothing
	case c.sub != "":
		return status
	}
	return changed
}

// differs reports whether the answer is of another version than the object was
// before the write.
func (c *call) differs(answer client.Object) bool {
	after := answer.GetResourceVersion()
	switch {
	case after == c.version,
		c.cached != nil && after == c.cached.GetResourceVersion(),
		c.remembered && after == c.last.version:
		return false
	case c.version != "" && c.verb == "update":
		return true // nobody else can have written meanwhile
	}
	// What was there is not known, or was changed by others meanwhile. The
	// server notes who has changed something, and when, in whole seconds.
	second := c.start.Truncate(time.Second)
	for _, m := range answer.GetManagedFields() {
		if m.Time == nil || m.Time.Time.Before(second) || !c.owned(m) {
			continue
		}
		// An earlier write of the same second may have left that time.
		return !c.remembered || c.last.at.Before(second) || c.last.answered != stateOf(answer).Desired().Digest()
	}
	return len(answer.GetManagedFields()) == 0
}

// owned reports whether a note of the server is about writes like this one.
func (c *call) owned(m metav1.ManagedFieldsEntry) bool {
	return (m.Operation == metav1.ManagedFieldsOperationApply) == c.applies && m.Subresource == c.sub &&
		(c.manager == "" || m.Manager == c.manager)
}

// learn keeps what the write left.
func (c *call) learn(err error, answer client.Object, now time.Time) {
	writes := c.work.kit.writes
	switch {
	case c.collection:
	case apierrors.IsNotFound(err), err == nil && c.verb == "delete":
		writes.forget(c.key)
	case err != nil:
		c.contested(err)
	case answer == nil:
	case c.sub == "":
		w := written{sent: c.decided.Digest, at: now}
		w.take(answer, stateOf(answer).Desired(), c.supply(answer).Own(answer.GetAnnotations()))
		writes.keep(objectKey{c.gvk.GroupKind(), client.ObjectKeyFromObject(answer)}, w)
	default:
		// A status changes nothing of the rest, as far as this process knows.
		if w := c.last; !c.remembered {
			w.take(answer, stateOf(answer).Desired(), c.supply(answer).Own(answer.GetAnnotations()))
			c.last = w
		}
		c.last.version, c.last.uid, c.last.at = answer.GetResourceVersion(), answer.GetUID(), now
		writes.keep(c.key, c.last)
	}
}

func (c *call) attributes(err error, answer client.Object) []attribute.KeyValue {
	uid, name, generation := c.uid, c.key.Name, int64(0)
	if answer != nil {
		uid, name, generation = answer.GetUID(), answer.GetName(), answer.GetGeneration()
	}
	a := objectAttributes(c.gvk, c.key.Namespace, name, string(uid), generation)
	if apierrors.IsConflict(err) {
		a = append(a, attribute.Bool("lifeline.conflict", true))
	}
	return a
}
