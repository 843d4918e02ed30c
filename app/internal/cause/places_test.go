// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// placesIn returns the places of an owner in words: the holder of each one, or its loss.
func (c *cluster) placesIn(owner string) string {
	var out []string
	p := placesOf(c.scene, c.states[owner].UID)
	var all []*place
	for _, key := range slices.Sorted(maps.Keys(p.rows)) {
		all = append(all, p.rows[key].all...)
	}
	for _, at := range all {
		switch {
		case at.holder != nil:
			out = append(out, c.names[at.holder.Ref.UID])
		case at.lost != nil:
			out = append(out, "lost "+c.names[at.lost.timeline.Ref.UID])
		case at.again:
			out = append(out, "again")
		default:
			out = append(out, "free")
		}
	}
	return strings.Join(out, ", ")
}

// TestPlaces: a new dependant fills the place that was freed first, or a new one.
func TestPlaces(t *testing.T) {
	ofJob, ofSet := podOf("batch", "Job", "sums"), podOf("apps", "ReplicaSet", "web-1")
	old := func(d time.Duration) trait { return func(st *state) { st.Created = epoch.Add(-d) } }
	succeeded := func(st *state) { st.Pod.Phase = "Succeeded" }
	for name, tc := range map[string]struct {
		reason, owner string
		tell          func(*cluster)
		want          string
	}{
		"Found": {"Pods found at the start are in order of creation", "sums", func(c *cluster) {
			c.found("sums", job(2))
			c.found("younger", ofJob, old(time.Minute))
			c.found("older", ofJob, old(time.Hour))
			c.store("third", ofJob)
		}, "older, younger, third"},
		"Ended": {"the place of a Pod that succeeded is free", "sums", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("a", ofJob)
			c.store("b", ofJob)
			c.store("a", succeeded)
		}, "free, b"},
		"Filled again": {"the lowest free place is the next one", "sums", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("a", ofJob)
			c.store("b", ofJob)
			c.store("a", succeeded)
			c.store("c", ofJob)
			c.store("d", ofJob)
		}, "c, b, d"},
		"Lost": {"failed, deleted and released Pods", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 4)).begins()
			for _, name := range []string{"a", "b", "c", "d"} {
				c.store(name, ofSet)
			}
			c.store("b", failed)
			c.store("a", deleting)
			c.gone("a")
			c.store("d", func(st *state) { st.Owners = nil })
		}, "lost a, lost b, c, lost d"},
		"Elsewhere": {"an owner is in the same namespace", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 2)).begins()
			c.store("a", ofSet, elsewhere)
			c.store("b", ofSet)
		}, "b"},
		"First freed": {"the first loss is replaced first", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 2)).begins()
			c.store("a", ofSet)
			c.store("b", ofSet)
			c.store("b", deleting)
			c.store("a", deleting)
			c.store("c", ofSet)
		}, "lost a, c"},
		"Decrease": {"it removes the losses above it", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 3)).begins()
			c.store("a", ofSet)
			c.store("b", ofSet)
			c.store("c", ofSet)
			c.store("a", deleting)
			c.store("web-1", wants(2), by("kubectl-scale"))
		}, "b, c"},
		"Decrease of ordinals": {"a loss below the new number stays", "db", func(c *cluster) {
			c.store("db", of("apps", "StatefulSet"), by("kubectl-create"), wants(3), fresh).begins()
			c.store("db-5f", of("apps", "ControllerRevision"), owned("apps", "StatefulSet", "db"))
			for _, name := range []string{"db-0", "db-1", "db-2"} {
				c.store(name, podOf("apps", "StatefulSet", "db"))
			}
			c.store("db-0", deleting)
			c.store("db-2", deleting)
			c.store("db", wants(2), by("kubectl-scale"))
		}, "db-5f, lost db-0, db-1"},
		"Other kinds": {"they have places of their own", "sums", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("notes", of("", "ConfigMap"), owned("batch", "Job", "sums"))
			c.store("a", ofJob)
			c.store("a", deleting)
			c.store("b", ofJob)
			c.store("sums", wants(1), by("kubectl-edit"))
		}, "notes, b"},
		"Removed": {"the controller removes the place with its Pod", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 2)).begins()
			c.store("a", ofSet)
			c.store("b", ofSet)
			c.store("web-1", wants(1), by("kubectl-scale")).begins()
			c.store("a", deleting).below("web-1")
		}, "b"},
		"Adopted": {"the object fills a place of its new owner", "web-1", func(c *cluster) {
			c.store("web-1", replicaSet("web", 2)).begins()
			c.store("a", pod)
			c.store("a", owned("apps", "ReplicaSet", "web-1"))
		}, "a"},
		"Replaced": {"a StatefulSet replaces the Pod that it deleted", "db", func(c *cluster) {
			c.store("db", of("apps", "StatefulSet"), by("kubectl-create"), wants(2), fresh).begins()
			c.store("db-0", podOf("apps", "StatefulSet", "db"))
			c.store("db-1", podOf("apps", "StatefulSet", "db"))
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db-1", deleting).below("db")
		}, "db-0, again"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			c.store("other", pod)
			c.set()
			if diff := gocmp.Diff(tc.want, c.placesIn(tc.owner)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOrdinals: the first ordinal of a StatefulSet has the place number 1.
func TestOrdinals(t *testing.T) {
	for start, want := range map[int]int{0: 6, 5: 1} {
		c := newCluster()
		c.store("db", of("apps", "StatefulSet"), wants(2), shown("spec.ordinals.start", fmt.Sprint(start))).begins()
		c.store("db-5", podOf("apps", "StatefulSet", "db"))
		w := c.set()
		if got := numberOf(c.scene, controllerOf(c.scene, w), w.Timeline); got != want {
			t.Errorf("ordinals from %d: the place is %d, want %d", start, got, want)
		}
	}
}

// TestLeave: an object is lost if its controller did not remove it.
func TestLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		want   bool
	}{
		"Removed": {"a person removed it", func(c *cluster) {
			c.gone("web-1-a").begins()
		}, true},
		"In deletion": {"a deletion counts from its start", func(c *cluster) {
			c.store("web-1-a", deleting).begins()
		}, true},
		"By its controller": {"the owner's change removed it", func(c *cluster) {
			c.gone("web-1-a").below("web-1")
		}, false},
		"By another object": {"the change of another object removed it", func(c *cluster) {
			c.gone("web-1-a").below("web-1-b")
		}, true},
		"Failed": {"it failed permanently", func(c *cluster) {
			c.store("web-1-a", failed).noted()
		}, true},
		"Updated": {"it is there", func(c *cluster) {
			c.store("web-1-a", on("node-1")).noted()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			settledWeb(c)
			tc.tell(c)
			c.store("other", pod)
			c.set()
			if lost, _ := Departed(c.scene, c.index.View().Object("uid-web-1-a")); lost != tc.want {
				t.Errorf("%s: lost %t, want %t", tc.reason, lost, tc.want)
			}
		})
	}
}

// TestLeaveOnce: an object that failed and then went is lost once.
func TestLeaveOnce(t *testing.T) {
	c := newCluster()
	settledWeb(c)
	c.store("web-1-a", failed).noted()
	c.store("web-1-a", deleting).begins()
	c.store("other", pod)
	c.set()
	if lost := placesOf(c.scene, "uid-web-1").losses; len(lost) != 1 || lost[0].rv >= c.rv-1 {
		t.Errorf("got %d losses, want one at the failure", len(lost))
	}
}

// TestLeaveNothing: the objects of a schedule, and replaced mirror Pods, are not lost.
func TestLeaveNothing(t *testing.T) {
	c := newCluster()
	c.store("nightly-1", job(1), owned("batch", "CronJob", "nightly")).begins()
	c.gone("nightly-1").begins()
	mirror := all(named("etcd"), pod, owned("", "Node", "node-1"), by("kubelet"), leaf(pathMirror))
	c.store("old", mirror).begins()
	c.store("new", mirror).begins()
	c.gone("old").below("new")
	c.store("loose", pod).begins()
	c.gone("loose").begins()
	c.store("other", pod)
	c.set()
	for owner, p := range c.scene.places {
		if len(p.losses) > 0 {
			t.Errorf("%s has lost %s, want no loss", owner, p.losses[0].timeline.Ref.Name)
		}
	}
}

// TestRememberedLoss: the loss of a forgotten object may still be replaced, and losses are in order.
func TestRememberedLoss(t *testing.T) {
	c := newCluster()
	for _, name := range []string{"a", "b", "c"} {
		c.store(name, podOf("apps", "ReplicaSet", "web-1")).begins()
	}
	for name, past := range map[string]change.Past{
		"a": {RV: 30, Gone: true, Lost: true}, "b": {RV: 20, Gone: true, Lost: true, Replaced: true},
		"c": {RV: 10, Gone: true},
	} {
		c.index.View().Object(c.states[name].UID).Past = &past
	}
	c.store("d", podOf("apps", "ReplicaSet", "web-1"))
	c.facts = c.facts[3:]
	w := c.set()
	var got []string
	for _, lost := range placesOf(c.scene, "uid-web-1").losses {
		got = append(got, lost.timeline.Ref.Name)
	}
	if diff := gocmp.Diff([]string{"b", "a"}, got); diff != "" {
		t.Errorf("the remembered losses (-want +got):\n%s", diff)
	}
	if lost := lossOf(c.scene, w, &w.Owners()[0]); lost == nil || lost.timeline.Ref.Name != "a" {
		t.Errorf("got %+v, want the loss without a replacement", lost)
	}
}
