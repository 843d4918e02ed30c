// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func ownedBy(k string, names ...string) func(*observation.State) {
	return func(st *observation.State) {
		st.Owners = nil
		for _, name := range names {
			st.Owners = append(st.Owners, object.Owner{
				Kind: object.Kind{
					Group:   "example.com",
					Version: "v1",
					Kind:    k,
				},
				Name: name,
				UID:  types.UID("uid-" + name),
			})
		}
	}
}

// together feeds an engine with groups and one without, and compares them at a look after each observation
// and later.
func together(t *testing.T, seen []*observation.Observation) {
	t.Helper()
	whole, divided := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
	whole.groups.whole = true
	look := func(now time.Time) {
		t.Helper()
		want, got := ask(whole, now), ask(divided, now)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("at %s: -together +in groups:\n%s", now.Sub(epoch), cmp.Diff(want.outline(), got.outline()))
		}
		if ids := divided.Differences(now); len(ids) > 0 {
			t.Fatalf("at %s: these differ from a derivation from nothing: %v", now.Sub(epoch), ids)
		}
	}
	var end time.Time
	for _, o := range seen {
		whole.Observe(o)
		divided.Observe(o)
		look(o.Seen)
		end = history.Later(end, o.Seen)
	}
	for step := time.Second; step < 3*time.Hour; step = step * 3 / 2 {
		look(end.Add(step))
	}
}

// TestConnections: a connection of two objects connects their groups.
func TestConnections(t *testing.T) {
	refused := observation.Write{
		Ref:      object.Ref{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "x"},
		Resource: "configmaps", Verb: "create", Code: 403, Reason: "Forbidden", Start: epoch, End: epoch,
		AuditID: "id", User: "jane",
	}
	for name, tell := range map[string]func(s *story){
		"ForgedContext": func(s *story) {
			s.write("head", custom("Head"))
			id := span.DeriveTraceID("test", "uid-head", "create", "1")
			s.write("forged", custom("Head"), by("mallory"), func(st *observation.State) {
				st.Namespace, st.TraceParent = "other", fmt.Sprintf("00-%s-%016x-01", id, 2)
			})
			s.finish("forged")
			s.wait(20 * time.Second)
			s.write("head", arrived)
		},
		"FormerOwner": func(s *story) {
			for _, owner := range []string{"a", "b"} {
				s.write(owner, custom("Head"), arrived)
				s.baseline()
			}
			s.write("c", ofKind("", "ConfigMap"), ownedBy("Head", "a", "b"))
			s.baseline()
			s.wait(time.Minute)
			s.gone("a")
			s.wait(3 * time.Second)
			s.write("c", ownedBy("Head", "b"))
		},
		"RequestAfterAudit": func(s *story) {
			s.run(runID, "kubectl create")
			late, audited := refused, refused
			late.TraceParent = "00-" + runID + "-0000000000000001-01"
			s.emit(observation.Observation{Source: observation.SourceAudit, Write: &audited})
			s.rv++
			s.emit(observation.Observation{Source: observation.SourceRequest, Write: &late})
			s.ran(runID, "kubectl create")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tell(s)
			together(t, s.seen)
		})
	}
}

// TestOwnersInACircle: ownerReferences may name each other.
func TestOwnersInACircle(t *testing.T) {
	s := newStory()
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprint("cm-", i))
	}
	for _, name := range all {
		s.write(name, ofKind("", "ConfigMap"), ownedBy("Head", all...))
	}
	if n := len(observe(s.seen).Traces(s.now())); n == 0 {
		t.Error("no trace")
	}
}

// TestRefusalsAreForgotten: refused writes to unknown objects leave no group behind.
func TestRefusalsAreForgotten(t *testing.T) {
	e, now := New(Options{Cluster: "test"}), epoch
	for i := range 1000 {
		now = now.Add(10 * time.Millisecond)
		e.Observe(&observation.Observation{Source: observation.SourceAudit, Seen: now, Write: &observation.Write{
			Ref: object.Ref{
				Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default", Name: fmt.Sprint("pod-", i),
			},
			Resource: "pods", Verb: "patch", Subresource: "status", Code: 404, Reason: "NotFound",
			Start: now, End: now, AuditID: fmt.Sprint("a", i), User: "system:node:x",
		}})
	}
	for range 10 {
		now = now.Add(time.Minute)
		e.Take(now)
	}
	e.Traces(now)
	if n, keys := len(e.groups.all), len(e.groups.byName); n+keys > 0 {
		t.Errorf("%d groups and %d names are left", n, keys)
	}
}
