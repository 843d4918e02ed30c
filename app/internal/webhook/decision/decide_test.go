// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

var (
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicaSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	pods        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	events      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}

	ann        = User{Name: "ann", Groups: []string{"system:authenticated"}}
	mallory    = User{Name: "mallory"}
	replicaset = User{Name: "system:serviceaccount:kube-system:replicaset-controller"}
)

func sc(n byte, sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{
			15: n,
		},
		SpanID:     trace.SpanID{7: n},
		TraceFlags: trace.TraceFlags(0).WithSampled(sampled),
		Remote:     true,
	})
}

// web returns a Deployment. Each of more is JSON to merge into it.
func web(more ...string) map[string]any {
	return made(
		append(
			[]string{`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "demo"},
		"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}}}`},
			more...)...)
}

func made(texts ...string) map[string]any {
	out := map[string]any{}
	for _, text := range texts {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			panic(err)
		}
		merge(out, m)
	}
	supply.DropNulls(out)
	return out
}

func merge(into, from map[string]any) {
	for k, v := range from {
		if m, isMap := v.(map[string]any); isMap {
			if there, isMap := into[k].(map[string]any); isMap {
				merge(there, m)
				continue
			}
		}
		into[k] = v
	}
}

// stored returns an object as stored after its admission.
func stored(object map[string]any, a Answer, uid string, generation int64) map[string]any {
	out := clone(object)
	meta := out["metadata"].(map[string]any)
	meta["uid"], meta["generation"] = uid, generation
	if a.Annotations != nil {
		all := map[string]any{}
		for k, v := range a.Annotations {
			all[k] = v
		}
		meta["annotations"] = all
	}
	return out
}

func clone(object map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range object {
		if m, isMap := v.(map[string]any); isMap {
			v = clone(m)
		}
		out[k] = v
	}
	return out
}

// carrying returns an object with a context on it.
func carrying(object map[string]any, sc trace.SpanContext) map[string]any {
	return stored(object, Answer{Annotations: lifeline.Default.Encode(sc, baggage.Baggage{})}, "", 0)
}

func create(kind schema.GroupVersionKind, by User, object map[string]any) *Request {
	return &Request{
		UID:       "call",
		Create:    true,
		Kind:      kind,
		Namespace: "demo",
		Name:      text(metadata(object)["name"]),
		User:      by,
		Object:    object,
	}
}

// owned returns a Pod of a ReplicaSet, without a name yet.
func owned(by string) map[string]any {
	return made(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-1-", "ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": ` +
		`"` + by + `", "uid": "uid-` + by + `", "controller": true}]}, "spec": {"nodeName": ""}}`)
}

// claimed returns a context with a fresh claim for a Deployment.
func claimed(sc trace.SpanContext, name string) trace.SpanContext {
	id := lifeline.Identity{Group: "apps", Kind: "Deployment", Namespace: "demo", Name: name}
	return lifeline.Claimed(sc, lifeline.Claim{Object: id.Hash(), Time: now})
}

func TestCreated(t *testing.T) {
	under := sc(7, true)
	open := func(namespace string, id types.UID) (trace.SpanContext, bool) {
		return under, namespace == "demo" && id == "uid-web-1"
	}
	copied := made(`{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": true}]}}`)
	for name, c := range map[string]struct {
		reason   string
		request  *Request
		with     func(*Request)
		evidence span.Evidence
		// trace is the expected trace; begins expects a new one.
		trace           trace.TraceID
		begins          bool
		beside, refused trace.SpanContext
		notSampled      bool
		stays           bool
	}{
		"no context": {reason: "a trace begins", request: create(deployments, ann, web()), begins: true},
		"baggage": {
			reason: "it reaches admission from every caller", request: create(deployments, ann, web()),
			with: func(r *Request) { r.Baggage = sc(1, true) }, evidence: span.ByRequest, trace: trace.TraceID{15: 1},
		},
		"baggage, not sampled": {
			reason: "the beginner of the trace has decided", request: create(deployments, ann, web()),
			with:       func(r *Request) { r.Baggage = sc(1, false) },
			evidence:   span.ByRequest,
			trace:      trace.TraceID{15: 1},
			notSampled: true,
		},
		"baggage and the API server's own": {
			reason: "for an ordinary caller the API server begins another " +
				"trace", request: create(deployments, ann, web()),
			with:     func(r *Request) { r.Baggage, r.Trace = sc(1, true), sc(2, true) },
			evidence: span.ByRequest,
			trace:    trace.TraceID{15: 1},
			beside:   sc(2, true),
		},
		"baggage, and the API server's own is not sent": {
			reason: "a link would lead nowhere", request: create(deployments, ann, web()),
			with:     func(r *Request) { r.Baggage, r.Trace = sc(1, true), sc(2, false) },
			evidence: span.ByRequest,
			trace:    trace.TraceID{15: 1},
		},
		"header": {
			reason: "the caller's, or the API server's, which is the first span of it " +
				"all", request: create(deployments, ann, web()),
			with: func(r *Request) { r.Trace = sc(2, true) }, evidence: span.ByRequest, trace: trace.TraceID{15: 2},
		},
		"header, not sampled": {
			reason: "an API server at rate 0 has decided nothing about " +
				"changes", request: create(deployments, ann, web()),
			with: func(r *Request) { r.Trace = sc(2, false) }, begins: true,
		},
		"of an open owner": {
			reason:   "the owner's reconciliation made it",
			request:  create(pods, replicaset, owned("web-1")),
			evidence: span.ByOwner,
			trace:    trace.TraceID{15: 7},
		},
		"of an open owner, traced": {
			reason: "the API server's own span began with this very " +
				"request", request: create(pods, replicaset, owned("web-1")),
			with: func(r *Request) { r.Trace = sc(2, true) }, evidence: span.ByOwner, trace: trace.TraceID{15: 7},
		},
		"of an owner in another namespace": {
			reason: "a UID alone gives no claim to its context", request: create(pods, ann, owned("web-1")),
			with: func(r *Request) { r.Namespace = "other" }, stays: true,
		},
		"of an owner that is done": {
			reason:  "the engine finds the cause of healing (C3)",
			request: create(pods, replicaset, owned("old-1")),
			stays:   true,
		},
		"of the control plane": {
			reason:  "its own writes begin no trace",
			request: create(deployments, replicaset, web()),
			stays:   true,
		},
		"copied": {
			reason:  "P3c: the Deployment's context comes by copy",
			request: create(replicaSets, replicaset, copied),
			with:    func(r *Request) { r.Baggage = sc(1, true) },
			stays:   true,
		},
		"an Event": {reason: "P5", request: create(events, ann, made(`{"metadata": {"name": "e"}}`)), stays: true},
		"dry run": {
			reason:  "nothing is stored",
			request: create(deployments, ann, web()),
			with:    func(r *Request) { r.DryRun, r.Baggage = true, sc(1, true) },
			stays:   true,
		},
		"the writer's own": {
			reason: "P3b", request: create(deployments, ann, carrying(web(), sc(3, true))), stays: true,
		},
		"a writer who may not": {
			reason: "it is replaced", request: create(deployments, mallory, carrying(web(), sc(3, true))),
			with: func(r *Request) { r.Baggage = sc(1, true) }, begins: true, refused: sc(3, true),
		},
		"a writer who may not, with a claim": {
			reason: "a forged claim does not make it ours",
			request: create(
				deployments,
				mallory,
				carrying(web(), claimed(sc(3, true), "web")),
			), begins: true, refused: sc(3, true),
		},
		"no object": {reason: "a hostile caller", request: create(deployments, ann, nil), stays: true},
		"no metadata": {
			reason:  "a hostile caller",
			request: create(deployments, ann, map[string]any{"metadata": "x"}),
			stays:   true,
		},
		"a subresource": {
			reason:  "it has rules of its own",
			request: create(pods, ann, made(`{"metadata": {"name": "p"}}`)),
			with:    func(r *Request) { r.Subresource = "status" },
			stays:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Options{Open: open, Trusts: func(u User) bool { return u.Name != "mallory" }})
			if c.with != nil {
				c.with(c.request)
			}
			a := d.Decide(c.request, now)
			if c.stays {
				if a.Annotations != nil || a.Context.IsValid() || a.Evidence != "" {
					t.Errorf("%s: %+v", c.reason, a)
				}
				return
			}
			carried := lifeline.Extract(annotated(a.Annotations))
			claim, holds := lifeline.ClaimOf(carried)
			if !supply.SameSpan(carried, a.Context) || !holds || !claim.Names(c.request.identity()) ||
				!claim.Time.Equal(now) {
				t.Errorf("%s: it carries %v, claim %+v", c.reason, carried, claim)
			}
			if a.Evidence != c.evidence || c.begins == claim.Parent.IsValid() ||
				!c.begins && a.Context.TraceID() != c.trace ||
				a.Context.IsSampled() == c.notSampled {
				t.Errorf("%s: %v, evidence %q, below %s", c.reason, a.Context, a.Evidence, claim.Parent)
			}
			if !supply.SameSpan(a.Beside, c.beside) || !supply.SameSpan(a.Refused, c.refused) {
				t.Errorf("%s: beside %v, refused %v", c.reason, a.Beside, a.Refused)
			}
			if c.refused.IsValid() && carried.TraceID() == c.refused.TraceID() {
				t.Errorf("%s: it is in the trace that was refused", c.reason)
			}
		})
	}
}

type annotated map[string]string

func (a annotated) GetAnnotations() map[string]string { return a }

// TestJustAdmitted: a Pod's creation may come before the observation of its ReplicaSet.
func TestJustAdmitted(t *testing.T) {
	d := New(Options{})
	set := carrying(made(`{"metadata": {"name": "web-1", "ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": `+
		`true}]}}`), sc(5, true))
	if a := d.Decide(create(replicaSets, replicaset, set), now); a.Annotations != nil {
		t.Errorf("the copy: %+v", a)
	}
	seen := map[trace.SpanID]bool{}
	for i := range 5 { // alike in all but the call
		r := create(pods, replicaset, owned("web-1"))
		r.UID = fmt.Sprint("call-", i)
		a := d.Decide(r, now.Add(time.Second))
		if a.Evidence != span.ByOwner || a.Context.TraceID() != (trace.TraceID{15: 5}) || seen[a.Context.SpanID()] {
			t.Errorf("Pod %d: %+v", i, a)
		}
		seen[a.Context.SpanID()] = true
	}
	if a := d.Decide(create(pods, replicaset, owned("web-1")), now.Add(time.Minute)); a.Context.IsValid() {
		t.Errorf("much later: %+v", a)
	}
	dry := New(Options{})
	r := create(replicaSets, replicaset, set)
	r.DryRun = true
	dry.Decide(r, now)
	if a := dry.Decide(create(pods, replicaset, owned("web-1")), now); a.Context.IsValid() {
		t.Errorf("after a dry run: %+v", a)
	}
}

// TestRunOfACronJob: a run comes by the clock, even just after the CronJob's creation.
func TestRunOfACronJob(t *testing.T) {
	d := New(Options{})
	cronJobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	if a := d.Decide(
		create(cronJobs, ann, made(`{"metadata": {"name": "nightly"}, "spec": {"schedule": "0 0 1 1 *"}}`)),
		now,
	); !a.Context.IsValid() {
		t.Fatalf("the CronJob: %+v", a)
	}
	run := made(`{"metadata": {"name": "nightly-1", "ownerReferences": [
		{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "uid-nightly", "controller": ` +
		`true}]}, "spec": {"parallelism": 1}}`)
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	controller := User{Name: "system:serviceaccount:kube-system:cronjob-controller"}
	if a := d.Decide(create(jobs, controller, run), now.Add(time.Second)); a.Context.IsValid() {
		t.Errorf("its run: %+v", a)
	}
}

// TestJustUpdated: the effects of an update follow from its new context, and not from the previous
// one. An example is the scaling of a ReplicaSet long after its creation.
func TestJustUpdated(t *testing.T) {
	was := carrying(made(`{"metadata": {"name": "web-1", "uid": "uid-web-1", "ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": true}]}, `+
		`"spec": {"replicas": 2}}`), sc(5, true))
	for name, c := range map[string]struct {
		reason string
		sent   map[string]any
		trace  trace.TraceID // of the Pod's context; zero without one
	}{
		"scaled": {
			reason: "the engine finds the cause",
			sent:   made(jsonOf(was), `{"spec": {"replicas": 5}}`),
		},
		"rolled back": {
			reason: "the Deployment's context is copied",
			sent:   carrying(made(jsonOf(was)), sc(6, true)),
			trace:  trace.TraceID{15: 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Options{})
			d.Decide(
				&Request{
					UID:       "scale",
					Kind:      replicaSets,
					Namespace: "demo",
					Name:      "web-1",
					User:      replicaset,
					Object:    c.sent,
					Before:    was,
				},
				now,
			)
			if a := d.Decide(
				create(pods, replicaset, owned("web-1")),
				now.Add(time.Second),
			); a.Context.TraceID() != c.trace {
				t.Errorf("%s: %v", c.reason, a.Context)
			}
		})
	}
}

func jsonOf(of map[string]any) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestUpdated: an update of an object with our context.
func TestUpdated(t *testing.T) {
	d := New(Options{Trusts: func(u User) bool { return u.Name != "mallory" }})
	first := d.Decide(create(deployments, ann, web()), now)
	was := stored(web(), first, "uid-web", 1)
	image := `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}`
	bare := func(more ...string) map[string]any { return stored(web(more...), Answer{}, "uid-web", 1) }
	kept := func(more ...string) map[string]any { return stored(web(more...), first, "uid-web", 1) }
	for name, c := range map[string]struct {
		reason string
		sent   map[string]any
		by     User
		dry    bool
		// fresh expects a new context, and restored the previous one. Otherwise the object stays as
		// sent.
		fresh, restored bool
	}{
		"nothing":           {reason: "P3f", sent: kept()},
		"status alone":      {reason: "it is not desired", sent: kept(`{"status": {"replicas": 2}}`)},
		"dropped":           {reason: "P3f: a no-op stays a no-op", sent: bare(), restored: true},
		"dropped, dry run":  {reason: "as it would be", sent: bare(), dry: true, restored: true},
		"template":          {reason: "P1", sent: kept(image), fresh: true},
		"template, dropped": {reason: "P1", sent: bare(image), fresh: true},
		"template, dry run": {reason: "nothing is stored", sent: kept(image), dry: true},
		"scaled":            {reason: "P3e: it would cost a write", sent: kept(`{"spec": {"replicas": 5}}`)},
		"another's context": {reason: "P3b", sent: carrying(bare(image), sc(3, true))},
		"another's, may not": {
			reason:   "the previous context is restored",
			sent:     carrying(bare(), sc(3, true)),
			by:       mallory,
			restored: true,
		},
		"another's, may not, it": {reason: "P1", sent: carrying(bare(image), sc(3, true)), by: mallory, fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.by.Name == "" {
				c.by = ann
			}
			r := &Request{
				UID:       "next",
				Kind:      deployments,
				Namespace: "demo",
				Name:      "web",
				User:      c.by,
				Object:    c.sent,
				Before:    was,
				DryRun:    c.dry,
			}
			a := d.Decide(r, now.Add(time.Minute))
			switch {
			case c.fresh:
				claim, _ := lifeline.ClaimOf(lifeline.Extract(annotated(a.Annotations)))
				if !a.Context.IsValid() || a.Context.TraceID() == first.Context.TraceID() || claim.Generation != 2 {
					t.Errorf("%s: %+v, claim %+v", c.reason, a, claim)
				}
			case c.restored:
				if diff := cmp.Diff(first.Annotations, a.Annotations); diff != "" || a.Context.IsValid() {
					t.Errorf("%s: -want +got:\n%s", c.reason, diff)
				}
			case a.Annotations != nil || a.Context.IsValid():
				t.Errorf("%s: %+v", c.reason, a)
			}
			// An admitted object stays unchanged at its next admission.
			after := stored(c.sent, a, "uid-web", 2)
			r.Object, r.Before = after, after
			if again := d.Decide(r, now.Add(2*time.Minute)); again.Annotations != nil {
				t.Errorf("%s: the next admission changes it: %+v", c.reason, again)
			}
		})
	}
}

// TestCopied: the Deployment controller copies its Deployment's context to each ReplicaSet, old or
// new, at each reconcile.
func TestCopied(t *testing.T) {
	controller := User{Name: "system:serviceaccount:kube-system:deployment-controller"}
	context := func(by User, at time.Time, more ...string) Answer {
		return New(Options{}).Decide(create(deployments, by, web(more...)), at)
	}
	older, newer := context(ann, now), context(ann, now.Add(time.Minute), `{"spec": {"minReadySeconds": 1}}`)
	foreign := Answer{Annotations: lifeline.Default.Encode(sc(3, true), baggage.Baggage{})}
	set := made(
		`{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "demo", ` +
			`"ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": true}]}, ` +
			`"spec": {"replicas": 0}}`,
	)
	for name, c := range map[string]struct {
		reason    string
		was, sent Answer
		by        User
		trusted   bool
		stays     bool
	}{
		"newer over older": {
			"an undo gives the old ReplicaSet the new context",
			older,
			newer,
			controller,
			true,
			true,
		},
		"ours over none": {
			"the ReplicaSet is older than the webhook",
			Answer{},
			newer,
			controller,
			true,
			true,
		},
		"ours over another's": {
			"the Deployment was created again over an orphan",
			foreign,
			newer,
			controller,
			true,
			true,
		},
		"another's over ours": {
			"a user has set the Deployment's context (P3b)",
			older,
			foreign,
			controller,
			true,
			true,
		},
		"another's, few may": {"the Deployment's admission has decided", older, foreign, controller, false, true},
		"another's, a user's": {
			"an untrusted user writes the ReplicaSet itself",
			older,
			foreign,
			mallory,
			false,
			false,
		},
		"older over newer": {
			"a user has replaced the ReplicaSet by a saved one (P3f)",
			newer,
			older,
			ann,
			true,
			false,
		},
		"dropped": {"P3f", newer, Answer{}, ann, true, false},
		"dropped, by a controller": {
			"P3f: the Deployment has dropped it, the ReplicaSet keeps it",
			newer,
			Answer{},
			controller,
			true,
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Options{Trusts: func(User) bool { return c.trusted }})
			before, sent := stored(set, c.was, "uid-web-1", 1), stored(set, c.sent, "uid-web-1", 1)
			a := d.Decide(
				&Request{
					UID:       "call",
					Kind:      replicaSets,
					Namespace: "demo",
					Name:      "web-1",
					User:      c.by,
					Object:    sent,
					Before:    before,
				},
				now.Add(time.Hour),
			)
			if c.stays {
				if a.Annotations != nil || a.Context.IsValid() {
					t.Errorf("%s: %+v", c.reason, a)
				}
				return
			}
			if diff := cmp.Diff(c.was.Annotations, a.Annotations); diff != "" || a.Context.IsValid() {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestRecentIsBounded(t *testing.T) {
	d := New(Options{})
	for i := range 3 * maxRecent {
		d.recent.note(lifeline.Identity{Kind: "Pod", Name: fmt.Sprint("p", i)}, sc(1, true), now)
	}
	if n := len(d.recent.now) + len(d.recent.before); n > 2*maxRecent {
		t.Errorf("recent holds %d contexts", n)
	}
	if _, ok := d.recent.of(lifeline.Identity{Kind: "Pod", Name: fmt.Sprint("p", 3*maxRecent-1)}, now); !ok {
		t.Error("recent has dropped the newest context")
	}
}

// TestObserved: the object of these requests cannot carry a context, so only the request's context
// is returned.
func TestObserved(t *testing.T) {
	scale := schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	for name, c := range map[string]struct {
		reason  string
		request Request
		want    trace.SpanContext
	}{
		"scale": {
			reason: "a Scale keeps no annotations",
			request: Request{
				Kind:        scale,
				Subresource: "scale",
				User:        ann,
				Object:      web(),
				Before:      web(),
				Baggage:     sc(1, true),
			},
			want: sc(1, true),
		},
		"delete": {
			reason:  "a deleted object is not changed",
			request: Request{Kind: deployments, User: ann, Baggage: sc(1, true)},
			want:    sc(1, true),
		},
		"delete, header": {
			reason:  "the API server trusts the caller",
			request: Request{Kind: deployments, User: ann, Trace: sc(2, true)},
			want:    sc(2, true),
		},
		"by a controller": {
			reason:  "the header is the API server's own",
			request: Request{Kind: pods, User: replicaset, Trace: sc(2, true)},
		},
		"by a stranger": {
			reason:  "an untrusted user's header does not count",
			request: Request{Kind: deployments, User: mallory, Baggage: sc(1, true)},
		},
		"dry run": {
			reason:  "nothing happens",
			request: Request{Kind: deployments, User: ann, Baggage: sc(1, true), DryRun: true},
		},
		"scaled by apply": {
			reason: "P3e: the observation carries the context",
			request: Request{
				Kind:    deployments,
				Name:    "web",
				User:    ann,
				Object:  web(`{"spec": {"replicas": 9}}`),
				Before:  web(),
				Baggage: sc(1, true),
			},
			want: sc(1, true),
		},
		"nothing to carry": {reason: "the request has no context", request: Request{Kind: deployments, User: ann}},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Options{Trusts: func(u User) bool { return u.Name != "mallory" }})
			a := d.Decide(&c.request, now)
			if !supply.SameSpan(a.Request, c.want) || a.Annotations != nil || a.Context.IsValid() {
				t.Errorf("%s: %+v", c.reason, a)
			}
		})
	}
}

// TestBinding: a Binding's annotations are merged onto its Pod.
func TestBinding(t *testing.T) {
	bind := func(more ...string) *Request {
		r := create(
			schema.GroupVersionKind{Version: "v1", Kind: "Binding"},
			User{Name: "system:kube-scheduler"},
			made(append([]string{`{"metadata": {"name": "p"}, "target": {"name": "n"}}`}, more...)...),
		)
		r.Subresource = "binding"
		return r
	}
	noted := map[string]string{object.AnnotationScheduled: "2026-03-01T12:00:00Z"}
	for name, c := range map[string]struct {
		reason  string
		request *Request
		dry     bool
		want    map[string]string
	}{
		"bare": {reason: "the Pod gets the time with its Node", request: bind(), want: noted},
		"annotated": {
			reason:  "the scheduler's annotations stay",
			request: bind(`{"metadata": {"annotations": {"a": "b"}}}`),
			want:    map[string]string{"a": "b", object.AnnotationScheduled: "2026-03-01T12:00:00Z"},
		},
		"noted": {
			reason:  "the first time stays",
			request: bind(`{"metadata": {"annotations": {"` + object.AnnotationScheduled + `": "x"}}}`),
		},
		"dry run": {reason: "nothing is bound", request: bind(), dry: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.DryRun = c.dry
			if a := New(Options{}).Decide(c.request, now); cmp.Diff(c.want, a.Annotations) != "" ||
				a.Context.IsValid() {
				t.Errorf("%s: %+v", c.reason, a)
			}
		})
	}
}
