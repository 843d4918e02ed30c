// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// rollout is a change of the Deployment web by ana: two new Pods on two nodes, of which one has pulled its image, and
// an old Pod. A claim, a ConfigMap and a failed Pod are part of it, too.
func rollout() *span.Trace {
	b := spantest.New("rollout")
	add := func(up *span.Span, kind, name, verb string, from, to int, attributes ...attribute.KeyValue) *span.Span {
		group := map[string]string{"Deployment": "apps"}[kind]
		s := b.Add(up, "reconcile "+kind, "kubelet", spantest.Ref(group, kind, name), from, to, attributes...)
		s.Outcome, s.Facts = span.Converged, &span.Facts{Verb: verb, Workload: "Deployment/web"}
		return s
	}
	root := add(nil, "Deployment", "web", "update", 0, 5000, span.KeyActorUser.String("ana"),
		span.KeyActor.String("kubectl"), span.KeyFields.StringSlice([]string{"spec.image"}), span.KeyReplicas.Int(2))
	pod := func(name, node string, from, to int) *span.Span {
		s := add(root, "Pod", name, "create", from, to, span.KeyActor.String("replicaset-controller"),
			span.KeyKubelet.String("v1.36.2"), span.KeyNodePool.String("spot"), span.KeyScheduler.String("own"),
			span.KeyCPU.Int64(500), span.KeyMemory.Int64(256<<20),
			span.KeyStorageClasses.StringSlice([]string{"fast"}))
		s.Facts.Pod = &span.PodFacts{Volumes: 2, Node: node, Zone: "a", Images: []string{"web:2"}}
		return s
	}
	one := pod("web-1", "node-1", 1000, 4000)
	b.Add(one, span.NamePull, "kubelet", one.Object, 2000, 3000)
	pod("web-2", "node-2", 1500, 3500)
	old := add(root, "Pod", "web-0", "delete", 4000, 4800)
	old.Outcome, old.Facts.Pod = span.Deleted, &span.PodFacts{Node: "node-1", Images: []string{"web:1"}}
	failed := pod("web-3", "node-1", 100, 200)
	failed.Outcome = span.Failed
	claim := add(root, "PersistentVolumeClaim", "data", "create", 500, 900)
	claim.Facts.Workload = ""
	add(root, "ConfigMap", "config", "create", 500, 500).Facts.Workload = ""
	add(root, "Pod", "web-4", "create", 600, 700).Outcome = span.Superseded
	return b.Trace
}

func attributes(pairs ...string) []sample.Attribute {
	var out []sample.Attribute
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, sample.Attribute{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func lengths(total time.Duration) sample.Phases { return sample.Phases{sample.Total: total} }

// TestRollupsOf: a rollout is one sample of its Pods, one of their predecessors and one of each other object.
func TestRollupsOf(t *testing.T) {
	of := rollout()
	at := func(ms int) time.Time { return spantest.At(ms).Time }
	root := object.Ref{Kind: object.Kind{Group: "apps", Kind: "Deployment"}, Namespace: "default"}
	rollup := func(r sample.Rollup, group, name string) store.Rollup {
		r.Trace, r.Namespace = of.ID, "default"
		return store.Rollup{
			Rollup: r, Root: root,
			Object: object.Ref{Kind: object.Kind{Group: group, Kind: r.Kind}, Namespace: "default", Name: name},
		}
	}
	want := []store.Rollup{
		rollup(sample.Rollup{
			Workload: "Deployment/web", Kind: "Deployment", Verb: "update", Start: at(0), Count: 1,
			Phases:     lengths(5 * time.Second),
			Attributes: attributes("author", "ana", "changed", "spec.image", "replicas", "2"),
		}, "apps", ""),
		rollup(sample.Rollup{
			Workload: "Deployment/web", Kind: "Pod", Verb: "create", Start: at(1000), Count: 2,
			Phases: sample.Phases{sample.Total: 2500 * time.Millisecond, "pull": time.Second},
			Attributes: attributes("author", "ana", "changed", "spec.image", "image", "web:2", "kubelet", "v1.36.2",
				"node_pool", "spot", "registry", "docker.io", "replicas", "2", "requests", "cpu 500m, memory 256Mi",
				"scheduler", "own", "storage_class", "fast", "volumes", "2", "zone", "a"),
			Parts: []sample.Part{
				{
					Count: 1, Phases: sample.Phases{sample.Total: 3 * time.Second, "pull": time.Second},
					Attributes: attributes("node", "node-1"),
				},
				{Count: 1, Phases: lengths(2 * time.Second), Attributes: attributes("node", "node-2")},
			},
		}, "", ""),
		rollup(sample.Rollup{
			Workload: "Deployment/web", Kind: "Pod", Verb: "delete", Start: at(4000), Count: 1,
			Phases: lengths(800 * time.Millisecond),
			Attributes: attributes("author", "ana", "changed", "spec.image", "image", "web:1", "node", "node-1",
				"registry", "docker.io", "replicas", "2", "volumes", "0"),
		}, "", ""),
		rollup(sample.Rollup{
			Kind: "PersistentVolumeClaim", Verb: "create", Start: at(500), Count: 1,
			Phases: lengths(400 * time.Millisecond), Attributes: attributes("author", "ana"),
		}, "", "data"),
	}
	if diff := cmp.Diff(want, store.RollupsOf(of, at(9000))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFirstClaim: the first claim with a result decides whether a lifecycle is a sample, and how long it took.
func TestFirstClaim(t *testing.T) {
	for name, tc := range map[string]struct {
		first, last span.Outcome
		want        time.Duration
	}{
		"converged":             {span.Converged, "", 5 * time.Second},
		"failed":                {span.Failed, "", 0},
		"failed, then well":     {span.Failed, span.Converged, 0},
		"unfinished":            {span.Unfinished, "", 0},
		"unfinished, then well": {span.Unfinished, span.Converged, 65 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := spantest.New(name)
			root := b.Add(nil, "reconcile Deployment", "x", spantest.Ref("apps", "Deployment", "web"), 0, 5000)
			root.Outcome = tc.first
			if tc.last != "" {
				claim := b.Add(root, span.NameAmend, "x", root.Object, 65_000, 65_000, span.KeyClaim.Int(2))
				claim.Outcome = tc.last
			}
			var got time.Duration
			for _, r := range store.RollupsOf(b.Trace, spantest.At(99_000).Time) {
				got = r.Phases[sample.Total]
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestRollupIn: a scope hides rollups, and facts about hidden objects.
func TestRollupIn(t *testing.T) {
	pods := store.RollupsOf(rollout(), spantest.At(9000).Time)[1]
	outside := pods
	outside.Root.Namespace = "platform"
	healing := pods
	healing.Heals, healing.Healed = true, object.Ref{Kind: kind.Node.Kind, Name: "node-9"}
	above := pods
	above.Above = object.Ref{Kind: object.Kind{Group: "example.com", Kind: "Fleet"}, Name: "web"}
	has := func(r sample.Rollup, name string) bool {
		for _, a := range r.Attributes {
			if a.Name == name {
				return true
			}
		}
		return false
	}
	all := store.Scope{}
	pod := store.Scope{Without: []store.Guarded{{Kind: "Pod"}}}
	except := store.Scope{Except: []trace.TraceID{pods.Trace}}
	namespace := store.Scope{Namespaces: []string{"default"}}
	nodes := store.Scope{Namespaces: []string{"default", ""}}
	for name, tc := range map[string]struct {
		rollup                               store.Rollup
		scope                                store.Scope
		there, zone, author, heals, workload bool
	}{
		"everything":           {pods, all, true, true, true, false, true},
		"another namespace":    {pods, store.Scope{Namespaces: []string{"shop"}}, false, false, false, false, false},
		"nothing":              {pods, store.Scope{Namespaces: []string{}}, false, false, false, false, false},
		"a guarded kind":       {pods, pod, false, false, false, false, false},
		"an excepted trace":    {pods, except, false, false, false, false, false},
		"the namespace":        {pods, namespace, true, false, true, false, true},
		"and Nodes":            {pods, nodes, true, true, true, false, true},
		"a change of others":   {outside, namespace, true, false, false, false, true},
		"a healing":            {healing, nodes, true, true, true, true, true},
		"healing a hidden one": {healing, namespace, true, false, true, false, true},
		"a hidden workload":    {above, namespace, true, false, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(tc.rollup.Attributes)
			got, there := tc.rollup.In(tc.scope)
			if there != tc.there || has(got, "zone") != tc.zone || has(got, "kubelet") != tc.zone ||
				has(got, "author") != tc.author || got.Heals != tc.heals || (got.Workload != "") != tc.workload {
				t.Errorf("%t, %+v", there, got)
			}
			if len(tc.rollup.Attributes) != before {
				t.Error("the rollup changed")
			}
		})
	}
}

func parse(t *testing.T, text string) *question.Question {
	t.Helper()
	q, err := question.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestRollupFits: a question finds a rollup by what its lifecycles share, and by a part.
func TestRollupFits(t *testing.T) {
	pods := store.RollupsOf(rollout(), spantest.At(9000).Time)[1]
	for text, want := range map[string]bool{
		`kind == "Pod" && verb == "create" && workload == "Deployment/web"`: true,
		`kind == "Deployment"`:                                                    false,
		`node == "node-2" && duration < duration("2500ms")`:                       true,
		`node == "node-1" && duration < duration("2500ms")`:                       false,
		`"web:2" in images && zone == "a" && volumes == 2 && replicas == 2`:       true,
		`author == "ana" && "spec.image" in changed && "fast" in storage_classes`: true,
		`has(phase.pull) && phase.pull == duration("1s")`:                         true,
		`heals != ""`: false,
	} {
		q := store.RollupQuery{Where: parse(t, text)}
		if err := q.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := q.Fits(&pods, &pods.Rollup); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	q := store.RollupQuery{Where: parse(t, `name == "web"`)}
	if err := q.Validate(); err == nil {
		t.Error("a rollup has no name")
	}
	for name, q := range map[string]store.RollupQuery{
		"namespace": {Namespace: "other"}, "since": {Since: pods.Start.Add(1)}, "until": {Until: pods.Start},
	} {
		if q.Fits(&pods, &pods.Rollup) {
			t.Errorf("%s selects it", name)
		}
	}
}
