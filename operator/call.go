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

// call is one write, from just before its request until after its response.
type call struct {
	work      *work
	ctx       context.Context //nolint:containedctx // of this request
	gvk       schema.GroupVersionKind
	key       objectKey
	verb, sub string
	start     time.Time

	cached     client.Object // from the informer; nil if none; read-only
	whole      bool
	read       seen    // uncached read by the work; version is empty if none
	last       written // last write of this process
	remembered bool

	version    string // resourceVersion before the write; "" if unknown
	uid        types.UID
	collection bool
	manager    string // field manager; "" if unknown
	applies    bool   // server-side apply
	force      bool   // also overwrite fields of other managers
	decided    supply.Verdict
	try        try               // of the new context; zero if none
	again      bool              // a span with the new context exists
	context    trace.SpanContext // of the write's span
}

// begin prepares a write; nil means untraced.
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
		c.last, c.remembered = written{}, false // another object with the same name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place()
	w.pack()
	c.read = w.reads[c.key]
	c.use(ctx, w.next())
	return c
}

// use sets the span context of the write and of its request.
func (c *call) use(ctx context.Context, sc trace.SpanContext) {
	c.context = sc
	ctx = trace.ContextWithSpanContext(ctx, sc)
	if c.work.bag.Len() > 0 {
		ctx = baggage.ContextWithBaggage(ctx, c.work.bag)
	}
	c.ctx = ctx
}

// stamped stores the verdict. A new context becomes the context of the write's span, unless another
// span has it.
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

// offer returns a new context that no other write has. An apply is the exception: its context must
// be the same each time.
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

// create sets the context on an object that is created.
func (c *call) create(obj client.Object) {
	s := c.supply(obj)
	sent := supply.Content{Annotations: obj.GetAnnotations(), Desired: stateOf(obj).Desired()}
	c.stamped(s.Created(sent, c.work.context))
	obj.SetAnnotations(s.With(sent.Annotations, c.decided.Carry))
}

// update sets the context on an object that is written as a whole. A controller does not give a
// context to the object that it reconciles.
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

// before returns the object's content before the write, and whether it is certain. It comes from an
// informer, or from an earlier uncached read of the work.
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

// held returns the object's content in the informer. It returns false if the informer lags behind
// this process's own last write, or differs from the version that the caller read.
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

// behind reports whether a version is older than the last write of this process.
func (c *call) behind(version string) bool {
	return c.remembered && c.last.version != "" && newer(c.last.version, version)
}

// newer reports whether resourceVersion a is later than b. Of two different versions that cannot be
// compared, each counts as later.
func newer(a, b string) bool {
	x, err1 := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	if err1 != nil || err2 != nil {
		return a != b
	}
	return x > y
}

// end records the outcome of the write. answer is the object in the response; nil if there is none.
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

// repeats reports whether the context of a failed write will be sent again. That is always so for
// an apply. It is also so for a change that the API server may have stored, because then the retry
// must change nothing. The span of the failed write gets another span ID.
func (c *call) repeats(err error) bool {
	if c.try == (try{}) || c.again {
		return false
	}
	var status apierrors.APIStatus
	refused := errors.As(err, &status) && status.Status().Code/100 == 4
	return c.applies || c.verb != "create" && !refused
}

// effect returns the outcome of the write.
func (c *call) effect(err error, answer client.Object) effect {
	switch {
	case apierrors.IsNotFound(err), c.verb == "create" && apierrors.IsAlreadyExists(err):
		return benign
	case err != nil:
		return failed
	case c.collection:
		return benign
	case c.verb == "delete" && c.cached != nil && !c.cached.GetDeletionTimestamp().IsZero() &&
		(c.uid == "" || c.uid == c.cached.GetUID()):
		return nothing // deletion was in progress
	case c.verb == "delete", c.verb == "create" && c.sub == "":
		return changed
	case answer != nil && !c.differs(answer):
		return nothing
	case c.sub != "":
		return status
	}
	return changed
}

// differs reports whether the response has another version than the object before the write.
func (c *call) differs(answer client.Object) bool {
	after := answer.GetResourceVersion()
	switch {
	case after == c.version,
		c.cached != nil && after == c.cached.GetResourceVersion(),
		c.remembered && after == c.last.version:
		return false
	case c.version != "" && c.verb == "update":
		return true // the API server excludes other writes in between
	}
	// The earlier version is unknown, or other writers changed it. The server records who changed
	// something, and when, in whole seconds.
	second := c.start.Truncate(time.Second)
	for _, m := range answer.GetManagedFields() {
		if m.Time == nil || m.Time.Time.Before(second) || !c.owned(m) {
			continue
		}
		// An earlier write within the same second may have set that time.
		return !c.remembered || c.last.at.Before(second) || c.last.answered != stateOf(answer).Desired().Digest()
	}
	return len(answer.GetManagedFields()) == 0
}

// owned reports whether a managedFields entry matches writes like this one.
func (c *call) owned(m metav1.ManagedFieldsEntry) bool {
	return (m.Operation == metav1.ManagedFieldsOperationApply) == c.applies && m.Subresource == c.sub &&
		(c.manager == "" || m.Manager == c.manager)
}

// learn stores the result of the write in the memory.
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
		// A status update does not change the other fields that this process has stored.
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
