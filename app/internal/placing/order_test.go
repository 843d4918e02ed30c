// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// cluster is an index that a test fills.
type cluster struct {
	index   *index.Index
	members map[*change.Timeline]struct{}
}

func newCluster() *cluster {
	return &cluster{index: index.New(), members: map[*change.Timeline]struct{}{}}
}

// put adds a version of a ConfigMap or a Deployment. The owner, if any, is its controller.
func (c *cluster) put(kind, name string, rv uint64, listed bool, owner string) {
	s := &observation.State{
		Ref: object.Ref{
			Kind: object.Kind{Group: "apps", Version: "v1", Kind: kind}, Namespace: "default", Name: name,
			UID: types.UID(name),
		},
		ResourceVersion: rv, Generation: 1, Created: epoch, Reconciled: true,
	}
	if owner != "" {
		s.Owners = []object.Owner{{
			Kind: object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: owner, UID: types.UID(owner),
			Controller: true,
		}}
	}
	seen := epoch.Add(time.Duration(rv) * time.Millisecond)
	t := c.index.Timeline(s.Ref)
	c.index.Put(t, &observation.Observation{Seen: seen, Listed: listed, State: s}, true, false)
	c.members[t] = struct{}{}
}

// run places all writes.
func (c *cluster) run() *placed.Changes {
	known, opts := c.index.View(), change.Options{Cluster: "test"}.Complete()
	p := placed.New(known, opts, nil, len(c.members))
	s := cause.NewScene(known, p, trail.New(known), opts, maps.Keys(c.members))
	New(s, opts, c.members, nil).Run(false)
	p.Order()
	return p
}

// TestOrder: writes are placed in the order of storage. A creation that only a list shows comes before those of the
// object's dependants.
func TestOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		fill   func(*cluster)
		want   []string
	}{
		"live": {"by resourceVersion, not by arrival", func(c *cluster) {
			c.put("ReplicaSet", "web-1", 20, false, "web")
			c.put("Deployment", "web", 10, false, "")
		}, []string{"web", "web-1"}},
		"list": {"the list shows a later version of the owner", func(c *cluster) {
			c.put("Deployment", "web", 30, true, "")
			c.put("ReplicaSet", "web-1", 20, true, "web")
		}, []string{"web", "web-1"}},
		"strangers": {"no owner: the order of storage stays", func(c *cluster) {
			c.put("Deployment", "web", 30, true, "")
			c.put("ReplicaSet", "other", 20, true, "")
		}, []string{"other", "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.fill(c)
			var got []string
			for _, w := range c.run().Written {
				got = append(got, w.Timeline.Ref.Name)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, d)
			}
		})
	}
}

// TestRun: the dependant of a new object is below it, in one trace; a stranger begins another one. A second run gives
// the same IDs.
func TestRun(t *testing.T) {
	outline := func() map[string]string {
		c := newCluster()
		c.put("Deployment", "web", 10, false, "")
		c.put("ReplicaSet", "web-1", 20, false, "web")
		c.put("Deployment", "other", 30, false, "")
		out := map[string]string{}
		for _, l := range c.run().Ordered {
			for _, r := range l.Reconciliations {
				above := ""
				if r.Parent != nil {
					above = r.Parent.Timeline.Ref.Name
				}
				out[r.Timeline.Ref.Name] = above + " " + l.ID.String()
			}
		}
		return out
	}
	got := outline()
	if d := cmp.Diff(got, outline()); d != "" {
		t.Errorf("another run differs:\n%s", d)
	}
	line := func(name string) string { return got[name][len(got[name])-32:] }
	if got["web-1"][:3] != "web" || line("web") != line("web-1") || line("web") == line("other") {
		t.Errorf("got %v, want web-1 below web in one trace, and other in a second one", got)
	}
}
