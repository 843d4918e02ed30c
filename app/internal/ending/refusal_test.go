// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
)

// group is a world with placed changes and refused writes.
type group struct {
	*world
	placed   *placed.Changes
	refusals *Refusals
	// subjects are the objects of the refused writes.
	subjects map[index.Subject]struct{}
}

func newGroup(now float64) *group {
	w := newWorld(now)
	known := w.index.View()
	p := placed.New(known, w.opts, nil, 0)
	s := cause.NewScene(known, p, w.trail, w.opts, slices.Values([]*change.Timeline(nil)))
	return &group{w, p, NewRefusals(s, w.Endings, "test"), map[index.Subject]struct{}{}}
}

// begin adds the reconciliation that the write rv begins, in a trace with that number.
func (g *group) begin(t *change.Timeline, rv uint64) *change.Reconciliation {
	r := begin(t, rv)
	r.Lineage = &change.Lineage{ID: trace.TraceID{byte(rv)}}
	g.placed.Lines[r.Lineage.ID] = r.Lineage
	g.placed.Add(r)
	return r
}

// refuse adds a conflict of Jane that ended in that second, about the object of t.
func (g *group) refuse(t *change.Timeline, second float64, edits ...func(*observation.Write)) *observation.Write {
	q := &observation.Write{
		Ref: t.Ref, AuditID: fmt.Sprint("refused-", second), Verb: "update", Code: 409, User: "jane",
		Start: at(second - 0.1), End: at(second),
	}
	for _, e := range edits {
		e(q)
	}
	id := index.Identify(q)
	g.subjects[id] = struct{}{}
	g.trail.Refuse(id, q)
	return q
}

// place returns a line for each refused write: its place, its ID and its repeats.
func (g *group) place(members ...*change.Timeline) []string {
	all := map[*change.Timeline]struct{}{}
	for _, t := range members {
		all[t] = struct{}{}
	}
	g.refusals.Place(g.subjects, all)
	g.placed.Order()
	g.refusals.Order()
	var out []string
	for _, l := range g.placed.Ordered {
		for _, r := range l.Reconciliations {
			for _, w := range r.Refused {
				out = append(out, fmt.Sprint(r.Timeline.Ref.Name, " ", r.First().RV, ": ", w.AuditID, "+", w.Repeats))
			}
		}
		for _, w := range l.Refused {
			out = append(out, fmt.Sprint("alone: ", w.AuditID, "+", w.Repeats))
		}
	}
	return out
}

// byUser sets the user of a request.
func byUser(name string) func(*observation.Write) {
	return func(q *observation.Write) { q.User = name }
}

// nameless removes the UID from a request.
func nameless(q *observation.Write) { q.UID = "" }

// TestRefusals: a refused write belongs to the change of its object that is open, or stands alone.
func TestRefusals(t *testing.T) {
	deployment := func(g *group, name string, rv uint64) *change.Timeline {
		return g.put(&kind.Deployment, name, rv, replicas(1))
	}
	// waiting is a Deployment created at 10 that has not converged.
	waiting := func(g *group) *change.Timeline {
		web := deployment(g, "web", 10)
		g.begin(web, 10)
		return web
	}
	cases := map[string]struct {
		reason string
		set    func(g *group) *change.Timeline
		want   []string
	}{
		"none": {"nothing was refused", waiting, nil},
		"open": {"the change goes on", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15)
			return web
		}, []string{"web 10: refused-15+0"}},
		"name": {"the name means the object", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15, nameless)
			return web
		}, []string{"web 10: refused-15+0"}},
		"two of a name": {"both objects are possible", func(g *group) *change.Timeline {
			web := waiting(g)
			state := g.states["web"]
			state.UID = "other"
			other := g.index.Timeline(state.Ref)
			g.index.Put(other, &observation.Observation{State: &state, Seen: at(11)}, false, false)
			g.begin(other, 10)
			g.refuse(web, 15, nameless)
			return web
		}, []string{"alone: refused-15+0"}},
		"owner": {"the creation of a dependant was refused", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15, nameless, func(q *observation.Write) { q.Name, q.Controller = "", web.Ref.UID })
			return web
		}, []string{"web 10: refused-15+0"}},
		"other owner": {"the owner is not known, and its controller looks again", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15, nameless, func(q *observation.Write) { q.Controller = "other" })
			return web
		}, nil},
		"other object": {"nothing is known of the object", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15, func(q *observation.Write) { q.UID = "other" })
			return web
		}, []string{"alone: refused-15+0"}},
		"ended": {"the change had ended before", func(g *group) *change.Timeline {
			web := waiting(g)
			g.put(&kind.Deployment, "web", 12, current)
			g.refuse(web, 15)
			return web
		}, []string{"alone: refused-15+0"}},
		"ended within": {"the change ended after the request", func(g *group) *change.Timeline {
			web := waiting(g)
			g.put(&kind.Deployment, "web", 16, current)
			g.refuse(web, 15)
			return web
		}, []string{"web 10: refused-15+0"}},
		"ended, clocks": {"the clocks may differ a little", func(g *group) *change.Timeline {
			web := waiting(g)
			g.put(&kind.Deployment, "web", 12, current)
			g.refuse(web, 12.3)
			return web
		}, []string{"web 10: refused-12.3+0"}},
		"early": {"the change began after", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 9)
			return web
		}, []string{"alone: refused-9+0"}},
		"early, clocks": {"the clocks may differ a little", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 9.8)
			return web
		}, []string{"web 10: refused-9.8+0"}},
		"newest": {"the newest open change counts", func(g *group) *change.Timeline {
			waiting(g)
			web := g.put(&kind.Deployment, "web", 12, replicas(2))
			g.begin(web, 12)
			g.refuse(web, 15)
			return web
		}, []string{"web 12: refused-15+0"}},
		"forgotten": {"the stand-in was handed out", func(g *group) *change.Timeline {
			web := deployment(g, "web", 10)
			web.Past = &change.Past{TraceID: trace.TraceID{1}, RV: 5, Verb: history.Updated}
			g.refuse(web, 10.2)
			return web
		}, []string{"alone: refused-10.2+0"}},
		"repeats": {"the last request kept has the repeats", func(g *group) *change.Timeline {
			web := waiting(g)
			for n := range 7 {
				g.refuse(web, float64(12+n))
			}
			return web
		}, []string{
			"web 10: refused-12+0", "web 10: refused-13+0", "web 10: refused-14+0", "web 10: refused-15+3",
		}},
		"kinds": {"the requests are in order of time", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15)
			g.refuse(web, 14, byUser("joe"))
			return web
		}, []string{"web 10: refused-14+0", "web 10: refused-15+0"}},
		"alone twice": {"one kind of refusal is one trace", func(g *group) *change.Timeline {
			web := deployment(g, "web", 10)
			g.refuse(web, 15)
			g.refuse(web, 17)
			return web
		}, []string{"alone: refused-15+0", "alone: refused-17+0"}},
		"handed out": {"its trace was handed out", func(g *group) *change.Timeline {
			web := waiting(g)
			g.refuse(web, 15)
			g.trail.RefusalsOf(index.Subject{UID: web.Ref.UID}).Kinds[0].HandedOut = true
			return web
		}, nil},
		"contradicted": {"another request has the audit ID", func(g *group) *change.Timeline {
			web := waiting(g)
			q := *g.refuse(web, 15)
			g.trail.Sight(&q)
			q.Verb = "delete"
			g.trail.Sight(&q)
			return web
		}, nil},
		"observed": {"the request itself was observed", func(g *group) *change.Timeline {
			web := waiting(g)
			web.Request(g.refuse(web, 15))
			return web
		}, nil},
		"observed creation": {"the failed creation was observed", func(g *group) *change.Timeline {
			web := waiting(g)
			g.index.AddRefused(g.refuse(web, 15))
			return web
		}, nil},
		"no ID": {"requests without an ID are not the same", func(g *group) *change.Timeline {
			web := waiting(g)
			web.Request(&observation.Write{Start: at(1)})
			g.refuse(web, 15, func(q *observation.Write) { q.AuditID = "" })
			return web
		}, []string{"web 10: +0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGroup(20)
			web := tc.set(g)
			if diff := cmp.Diff(tc.want, g.place(web)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStandAlone: a change that was asked for in vain has its own trace.
func TestStandAlone(t *testing.T) {
	g := newGroup(20)
	web := g.put(&kind.Deployment, "web", 10)
	g.refuse(web, 15)
	g.refuse(web, 17)
	g.place()
	l := g.placed.Ordered[0]
	if len(g.placed.Ordered) != 1 || !l.Vain || !l.Latest.Equal(at(17)) || l.First != ^uint64(0) {
		t.Errorf("got %d traces, the first %+v; want one in vain, until 17s, in the last place",
			len(g.placed.Ordered), l)
	}
	of := g.trail.RefusalsOf(index.Subject{UID: web.Ref.UID}).Kinds[0]
	if got := g.refusals.Traces(of); len(got) != 2 || got[0] != l {
		t.Errorf("got the traces %v of the refusal, want that one for each request", got)
	}
	// The ID depends on the first request and on the cluster.
	other := newGroup(20)
	other.refusals.cluster = "other"
	web = other.put(&kind.Deployment, "web", 10)
	other.refuse(web, 15)
	other.place()
	if other.placed.Ordered[0].ID == l.ID {
		t.Error("two clusters have one trace")
	}
}

// TestTraces: a refusal knows the traces of its requests.
func TestTraces(t *testing.T) {
	g := newGroup(20)
	web := g.put(&kind.Deployment, "web", 10, replicas(1))
	r := g.begin(web, 10)
	g.refuse(web, 15)
	g.refuse(web, 15, byUser("joe"), func(q *observation.Write) { q.Start, q.End = at(8), at(9) })
	g.place(web)
	kinds := g.trail.RefusalsOf(index.Subject{UID: web.Ref.UID}).Kinds
	if got := g.refusals.Traces(kinds[0]); len(got) != 1 || got[0] != r.Lineage {
		t.Errorf("got %v, want the trace of the open change", got)
	}
	if got := g.refusals.Traces(kinds[1]); len(got) != 1 || !got[0].Vain {
		t.Errorf("got %v, want a trace of a change in vain", got)
	}
}

// TestLooksAgain: a refused request of a controller is no intended change.
func TestLooksAgain(t *testing.T) {
	cases := map[string]struct {
		reason string
		write  observation.Write
		want   bool
	}{
		"person": {"a person wanted the change",
			observation.Write{Verb: "update", Code: 409, User: "jane"}, false},
		"person, forbidden": {"a person wanted the change",
			observation.Write{Verb: "update", Code: 403, User: "jane"}, false},
		"dependant": {"a controller creates it again",
			observation.Write{Verb: "create", Code: 403, User: "jane", Controller: "web"}, true},
		"status": {"a controller writes it again",
			observation.Write{Verb: "update", Code: 409, Subresource: "status"}, true},
		"finalize": {"a controller writes it again",
			observation.Write{Verb: "update", Code: 409, Subresource: "finalize"}, true},
		"scale": {"a person wanted the change",
			observation.Write{Verb: "update", Code: 409, Subresource: "scale", User: "jane"}, false},
		"gone": {"the object is gone, as requested",
			observation.Write{Verb: "delete", Code: 404, User: "jane"}, true},
		"not found": {"the object to change does not exist",
			observation.Write{Verb: "patch", Code: 404, User: "jane"}, false},
		"not deleted": {"the deletion was refused", observation.Write{Verb: "delete", Code: 403, User: "jane"},
			false},
		"kubelet": {"a component tries again",
			observation.Write{Verb: "update", Code: 403, User: "system:node:node-1"}, true},
		"scheduler": {"a component tries again",
			observation.Write{Verb: "create", Code: 409, User: "system:kube-scheduler"}, true},
		"API server": {"a component tries again",
			observation.Write{Verb: "update", Code: 403, User: "system:apiserver"}, true},
		"kube-system": {"a component tries again",
			observation.Write{Verb: "update", Code: 403,
				User: "system:serviceaccount:kube-system:deployment-controller"}, true},
		"conflict of an operator": {"an operator reads the object again",
			observation.Write{Verb: "update", Code: 409, User: "system:serviceaccount:default:operator"}, true},
		"refused operator": {"an operator has no right",
			observation.Write{Verb: "update", Code: 403, User: "system:serviceaccount:default:operator"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := looksAgain(&tc.write); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// TestDrain: the refused evictions of a drain belong to its cordon. The drain tries again.
func TestDrain(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*observation.Write)
		want   []string
		latest float64
	}{
		"drain": {"the user cordoned the Node", func(*observation.Write) {}, []string{"node-1 11: refused-15+0"},
			20},
		"other user": {"another user evicts the Pod", byUser("joe"), []string{"alone: refused-15+0"}, 0},
		"deletion": {"a deletion is no eviction", func(q *observation.Write) { q.Subresource = "" },
			[]string{"alone: refused-15+0"}, 0},
		"forged": {"the user is not certain", func(q *observation.Write) { q.Unauthenticated = true },
			[]string{"alone: refused-15+0"}, 0},
		"before": {"the Node was not cordoned", func(q *observation.Write) { q.Start, q.End = at(9), at(9.5) },
			[]string{"alone: refused-15+0"}, 0},
		"name": {"the name means the Pod", nameless, []string{"node-1 11: refused-15+0"}, 20},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGroup(20)
			g.put(&kind.Node, "node-1", 10, by("kubectl"), field("metadata.name", 1))
			node := g.put(&kind.Node, "node-1", 11, field("spec.unschedulable", 1))
			cordon := begin(node, 11)
			cordon.Instant, cordon.Lineage = true, &change.Lineage{ID: trace.TraceID{11}}
			g.placed.Lines[cordon.Lineage.ID] = cordon.Lineage
			g.placed.Add(cordon)
			g.trail.Attach(node, &observation.Write{
				Ref: node.Ref, Verb: "patch", Code: 200, ResourceVersion: 11, User: "jane", Start: at(10.5),
				End: at(10.9),
			})
			evicted := g.put(&kind.Pod, "web-a", 5, pod)
			g.refuse(evicted, 15,
				func(q *observation.Write) { q.Verb, q.Subresource, q.Code = "create", "eviction", 429 }, tc.edit)
			if diff := cmp.Diff(tc.want, g.place()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got := cordon.Lineage.Latest; tc.latest > 0 && !got.Equal(at(tc.latest)) {
				t.Errorf("%s: the trace waits until %s, want %gs", tc.reason, got.Sub(epoch), tc.latest)
			}
		})
	}
}

// TestPlaceNothing: without refused writes nothing is placed.
func TestPlaceNothing(t *testing.T) {
	g := newGroup(20)
	g.subjects[index.Subject{UID: types.UID("web")}] = struct{}{}
	if got := g.place(); got != nil {
		t.Errorf("got %v", got)
	}
}
