// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// again is the number of forced reconciles without work.
const again = 3

// forced returns these numbers for many Heads: after a restart or a change, and after the creation.
func forced() (later, steady int) {
	if testing.Short() {
		return 1, 3
	}
	return again, 20
}

// phase is one step in the life of a subject.
type phase struct {
	name  string
	agent string
	window
	runs  map[string]int // reconciles by Head
	spans map[string]int // spans of writes, by "Kind/name" or "Kind/name/status"
}

// life is the record of one subject.
type life struct {
	*subject
	client client.Client // of the test, not of the subject
	phases []phase
	stuck  bool // calm is still waiting
	// emitted has the object of each span of a write in the last phase, as "Kind/name".
	emitted map[trace.SpanID]string
	// problems are the wrong contexts on children after the change of the image.
	problems []string
}

func headNames() []string { return slices.Sorted(maps.Keys(styles)) }

// TestFixpoint runs the same operators with and without the kit, for every way to write and every
// way to read. It compares the API server's logs of the two.
func TestFixpoint(t *testing.T) {
	install(t)
	lives := map[sight]map[bool]*life{}
	sights := []sight{owned, namespaced, live, direct}
	if testing.Short() {
		sights = sights[:1] // that of most operators
	}
	for _, how := range sights {
		lives[how] = map[bool]*life{false: newLife(t, how, false), true: newLife(t, how, true)}
	}
	t.Run("live", func(t *testing.T) {
		for how, pair := range lives {
			for kit, l := range pair {
				t.Run(fmt.Sprintf("%s/kit=%t", how, kit), func(t *testing.T) {
					t.Parallel()
					l.live(t)
				})
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	log := readLedger(t)
	for how, pair := range lives {
		t.Run(string(how), func(t *testing.T) { compare(t, log, pair[false], pair[true]) })
	}
}

// install installs the CustomResourceDefinitions.
func install(t *testing.T) {
	t.Helper()
	bench.MustKubectl(t, "", "apply", "--server-side", "-f", "../../examples/head-operator/config/crd")
	bench.MustKubectl(
		t,
		"",
		"wait",
		"--for=condition=Established",
		"crd/heads.demo.lifeline.dev",
		"crd/childas.demo.lifeline.dev",
		"--timeout=4m",
	)
}

func newLife(t *testing.T, how sight, kit bool) *life {
	t.Helper()
	c, err := client.New(settings(t, "the-test"), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &life{client: c, subject: &subject{sight: how, kit: kit, ns: bench.Namespace(t), write: everything}}
}

// everything writes all children of a Head, in the style of the Head's name. It then writes the
// Head's status, in one of three ways.
func everything(ctx context.Context, w *hand, h *v1alpha1.Head) error {
	var errs []error
	for _, c := range children {
		if err := styles[h.Name](ctx, w, c, h); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return report(ctx, w, h, statuses[slices.Index(headNames(), h.Name)%len(statuses)])
}

// create creates a Head for each style.
func (l *life) create(t *testing.T) {
	t.Helper()
	for i, name := range headNames() {
		h := &v1alpha1.Head{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: name, Annotations: outside(1, i)},
			Spec:       v1alpha1.HeadSpec{Image: "registry.example/app:1", Replicas: ptr.To[int32](0)},
		}
		if err := l.client.Create(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
}

// live runs all phases of the subject.
func (l *life) live(t *testing.T) {
	heads := headNames()
	later, steady := forced()
	l.create(t)
	l.phase(t, "create", func() { l.start(t) })
	l.phase(t, "steady", func() { l.force(t, steady, heads...) })
	l.phase(t, "restart", func() {
		l.restart(t)
		l.force(t, later, heads...)
	})
	l.phase(t, "other", func() {
		l.change(t, func(i int, h *v1alpha1.Head) {
			h.Spec.Message = "changed"
			h.Annotations = outside(2, i)
		})
		l.force(t, later, heads...)
	})
	l.phase(t, "restart after other", func() {
		l.restart(t)
		l.force(t, later, heads...)
	})
	l.phase(t, "change", func() {
		l.change(t, func(i int, h *v1alpha1.Head) {
			h.Spec.Image = "registry.example/app:2"
			h.Annotations = outside(3, i)
		})
	})
	l.contexts(t)
	l.phase(t, "steady after change", func() { l.force(t, later, heads...) })
	l.phase(t, "scale", func() {
		l.change(t, func(_ int, h *v1alpha1.Head) { h.Spec.Replicas = ptr.To[int32](1) })
	})
	l.phase(t, "steady after scale", func() { l.force(t, later, heads...) })
	l.stop()
}

// outside returns the annotation with the context of a client outside the cluster. trial is the
// number of the change.
func outside(trial, i int) map[string]string {
	return map[string]string{
		"trace.kubernetes.io/context": fmt.Sprintf("00-%032x-%016x-01", trial<<16+i+1, trial<<16+i+1),
	}
}

func (l *life) change(t *testing.T, f func(i int, h *v1alpha1.Head)) {
	t.Helper()
	for i, name := range headNames() {
		h := &v1alpha1.Head{ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: name}}
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(h), h); err != nil {
			t.Fatal(err)
		}
		base := h.DeepCopy()
		f(i, h)
		if err := l.client.Patch(t.Context(), h, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
}

// restart starts a new operator in place of the running one.
func (l *life) restart(t *testing.T) {
	t.Helper()
	l.stop()
	l.start(t)
	l.calm(t)
}

// phase runs f, waits until its work is done, and records the phase.
func (l *life) phase(t *testing.T, name string, f func()) {
	t.Helper()
	before, runs, starts := l.versions(t), l.done(), l.starts
	p := phase{name: name}
	p.window = during(func() {
		f()
		l.calm(t)
	})
	p.agent, p.runs = l.agent, l.done()
	if l.starts == starts {
		for h, n := range runs {
			p.runs[h] -= n
		}
	}
	if after := moved(before, l.versions(t)); strings.HasPrefix(name, "steady") && len(after) > 0 {
		t.Errorf("%s: %s: wrote %v, want no writes", l.ns, name, after)
	}
	if err := l.failures(); err != nil {
		t.Logf("%s: %s: %v", l.ns, name, err)
	}
	l.note(&p)
	l.phases = append(l.phases, p)
}

// note takes the phase's spans from the recorder.
func (l *life) note(p *phase) {
	if l.recorder == nil {
		return
	}
	p.spans, l.emitted = map[string]int{}, map[trace.SpanID]string{}
	for _, s := range l.recorder.Spans() {
		if s.Status().Code == codes.Error {
			continue // a failed write stores nothing
		}
		verb, kind, ok := strings.Cut(s.Name(), " ")
		if !ok || verb == "queue" || verb == "watch" || kind == "reconcile" {
			if verb == "head" {
				p.spans["reconcile"]++
			}
			continue
		}
		name := ""
		for _, a := range s.Attributes() {
			if a.Key == "k8s.object.name" {
				name = a.Value.AsString()
			}
		}
		kind, sub, _ := strings.Cut(kind, "/")
		if sub != "" {
			sub = "/" + sub
		}
		p.spans[kind+"/"+name+sub]++
		l.emitted[s.SpanContext().SpanID()] = kind + "/" + name
	}
	l.recorder.Reset()
}

// versions returns the resourceVersions of all objects in the namespace.
func (l *life) versions(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, kind := range []string{"ChildA", "Deployment", "ReplicaSet", "Service", "ConfigMap", "Head", "Pod"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvkOf(kind))
		if err := l.client.List(t.Context(), list, client.InNamespace(l.ns)); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			seen[kind+"/"+o.Name] = o.ResourceVersion
		}
	}
	return seen
}

// quiet is the time without changes that ends a phase.
const quiet = time.Second

// calm waits until every Head has converged, and nothing changes.
func (l *life) calm(t *testing.T) {
	t.Helper()
	var last map[string]string
	var runs map[string]int
	var since time.Time
	var unrest string
	defer func() {
		if unrest != "" && t.Failed() && l.stuck {
			t.Logf("%s, last changes: %s", l.ns, unrest)
		}
	}()
	harness.Eventually(t, "no more changes in "+l.ns, func() bool {
		if !since.IsZero() && time.Since(since) < quiet/2 {
			return false
		}
		now, done := l.versions(t), l.done()
		same := maps.Equal(now, last) && maps.Equal(done, runs)
		if !same {
			unrest = fmt.Sprintf("%v %v", moved(last, now), done)
		}
		last, runs = now, done
		l.stuck = true
		if !same || since.IsZero() {
			since = time.Now()
			return false
		}
		return l.reached(t)
	})
	l.stuck = false
}

// reached reports whether each Head's status has its generation, and every Deployment is rolled
// out.
func (l *life) reached(t *testing.T) bool {
	t.Helper()
	list := &v1alpha1.HeadList{}
	if err := l.client.List(t.Context(), list, client.InNamespace(l.ns)); err != nil {
		t.Fatal(err)
	}
	for _, h := range list.Items {
		if h.Status.ObservedGeneration != h.Generation {
			return false
		}
	}
	sets := &appsv1.ReplicaSetList{}
	if err := l.client.List(t.Context(), sets, client.InNamespace(l.ns)); err != nil {
		t.Fatal(err)
	}
	for _, s := range sets.Items {
		if s.Status.ObservedGeneration != s.Generation || s.Status.ReadyReplicas != *s.Spec.Replicas {
			return false
		}
	}
	deployments := &appsv1.DeploymentList{}
	if err := l.client.List(t.Context(), deployments, client.InNamespace(l.ns)); err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != *d.Spec.Replicas ||
			len(d.Status.Conditions) < 2 {
			return false
		}
		// This condition is the last write of a rollout. With many Deployments, it may come long
		// after the rest.
		if !slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable"
		}) {
			return false
		}
	}
	return len(list.Items) == len(styles)
}

// contexts records each child whose context is not that of its last write, and why.
func (l *life) contexts(t *testing.T) {
	t.Helper()
	if !l.kit {
		return
	}
	for _, name := range headNames() {
		for _, c := range children {
			obj := c.empty()
			if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: l.ns, Name: name}, obj); err != nil {
				t.Fatal(err)
			}
			sc := lifeline.Extract(obj)
			claim, holds := lifeline.ClaimOf(sc)
			id := lifeline.Identity{
				Group:     c.gvk.Group,
				Kind:      c.gvk.Kind,
				Namespace: l.ns,
				Name:      name,
				UID:       string(obj.GetUID()),
			}
			switch {
			case !sc.IsValid():
				l.problems = append(l.problems, fmt.Sprintf("%s %s has no context", name, c.gvk.Kind))
			case !holds || !claim.Names(id):
				l.problems = append(
					l.problems,
					fmt.Sprintf("%s %s has the context of another object: %s", name, c.gvk.Kind, claim),
				)
			case trialOf(sc) != 3:
				l.problems = append(
					l.problems,
					fmt.Sprintf("%s %s has the context of change %d, want 3", name, c.gvk.Kind, trialOf(sc)),
				)
			case l.emitted[sc.SpanID()] != c.gvk.Kind+"/"+name:
				l.problems = append(
					l.problems,
					fmt.Sprintf("%s %s has context %s, want the span of its write", name, c.gvk.Kind, sc.SpanID()),
				)
			case claim.Generation != 0 && claim.Generation != obj.GetGeneration():
				l.problems = append(
					l.problems,
					fmt.Sprintf(
						"%s %s: the context is for generation %d, the object has %d",
						name,
						c.gvk.Kind,
						claim.Generation,
						obj.GetGeneration(),
					),
				)
			}
		}
	}
}

// trialOf returns the number of the change whose trace a context is in; 0 for a trace that the
// operator started.
func trialOf(sc trace.SpanContext) int {
	id := sc.TraceID()
	if id[0] != 0 || id[1] != 0 {
		return 0
	}
	return int(id[13])
}

// compare compares a life with the kit with one without.
func compare(t *testing.T, log ledger, plain, kit *life) {
	for i := range plain.phases {
		p, k := plain.phases[i], kit.phases[i]
		pown, kown := log.stored(plain.subject, true, p.window), log.stored(kit.subject, true, k.window)
		pothers, kothers := log.stored(plain.subject, false, p.window), log.stored(kit.subject, false, k.window)
		preq, kreq := log.requested(plain.subject, p.agent, p.window), log.requested(kit.subject, k.agent, k.window)
		total := 0
		for _, style := range headNames() {
			for what, n := range union(pown[style], kown[style]) {
				if n[0]+blind(kit.sight, p.name, style, what) != n[1] {
					t.Errorf("%s: %s: stored writes of %s: %d without the kit, %d with it",
						p.name, style, what, n[0], n[1])
				}
				total += n[1]
			}
			if strings.HasPrefix(p.name, "steady") || strings.HasPrefix(p.name, "restart") {
				for what, n := range union(preq[style], kreq[style]) {
					// A reconcile may end in the phase after its requests.
					if n[0] != n[1] && n[0]*k.runs[style] != n[1]*p.runs[style] {
						t.Errorf(
							"%s: %s: requests %s: %d in %d reconciles without the kit, %d in %d with it",
							p.name,
							style,
							what,
							n[0],
							p.runs[style],
							n[1],
							k.runs[style],
						)
					}
				}
			}
		}
		extra := 0
		for _, style := range headNames() {
			extra += blind(kit.sight, p.name, style, "deployments")
		}
		if n := [2]int{sets(pothers), sets(kothers)}; n[0]+extra != n[1] {
			t.Errorf("%s: %d writes of ReplicaSets without the kit, %d with it", p.name, n[0], n[1])
		}
		for what, n := range kit.told(kown) {
			if got := k.spans[what]; got != n {
				t.Errorf("%s: %s: %d spans, want one for each of %d stored writes", p.name, what, got, n)
			}
		}
		for what, n := range k.spans {
			if kit.told(kown)[what] == 0 && what != "reconcile" {
				t.Errorf("%s: %s: %d spans without a stored write", p.name, what, n)
			}
		}
		t.Logf("%-22s stored %d, spans %d, reconciles %d/%d", p.name, total, len(k.spans), sum(p.runs), sum(k.runs))
	}
	for _, s := range kit.problems {
		// Without an informer, the kit cannot predict whether a patch changes anything.
		if kit.informed() {
			t.Errorf("context: %s", s)
		}
	}
}

// blind returns the number of additional writes that the kit is known to cost: one in one case,
// else none. An operator without an informer applies a child without reading it, after a restart,
// and its Head has a new context. The kit has lost the last applied context, and an apply without
// it removes it from the child.
func blind(how sight, phase, style, what string) int {
	if (how == live || how == direct) && phase == "restart after other" && strings.HasPrefix(style, "apply") &&
		!reads(style) &&
		what != "heads/status" {
		return 1
	}
	return 0
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// sets counts the writes to ReplicaSets, without those to their status.
func sets(stored map[string]map[string]int) (n int) {
	for _, m := range stored {
		n += m["replicasets"]
	}
	return n
}

// told returns the expected spans of stored writes, by their keys in phase.spans.
func (l *life) told(stored map[string]map[string]int) map[string]int {
	out := map[string]int{}
	kinds := map[string]string{"heads/status": "Head"}
	for _, c := range children {
		kinds[c.resource] = c.gvk.Kind
	}
	for name, m := range stored {
		for what, n := range m {
			key := kinds[what] + "/" + name
			if what == "heads/status" {
				key += "/status"
			}
			out[key] = n
		}
	}
	return out
}

// moved returns the objects in b whose version in a is another or missing.
func moved(a, b map[string]string) (out []string) {
	for k, v := range b {
		if a[k] != v {
			out = append(out, k)
		}
	}
	return out
}

// union returns the counts of both maps by key.
func union(a, b map[string]int) map[string][2]int {
	out := map[string][2]int{}
	for k, n := range a {
		out[k] = [2]int{n, b[k]}
	}
	for k, n := range b {
		out[k] = [2]int{a[k], n}
	}
	return out
}
