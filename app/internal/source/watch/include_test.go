// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ours is a changing set of namespaces.
type ours struct {
	mu  sync.Mutex
	set map[string]bool
}

func (o *ours) wanted(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set[namespace]
}

func (o *ours) put(namespace string, in bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.set[namespace] = in
}

func TestInclude(t *testing.T) {
	cases := map[string]struct {
		reason string
		since  uint64
		before func(f *fakeAPI)
		want   []string
	}{
		"Present": {
			reason: "the present is the baseline",
			want:   []string{"baseline Pod/changed 105", "baseline Deployment/d 104", "baseline event Pulled 108"},
		},
		"Past": {
			reason: "the state at since is the baseline, and all later changes follow", since: 104,
			want: []string{
				"baseline Pod/changed 103", "baseline Deployment/d 104",
				"listed Pod/changed 105", "listed Pod/brief 106", "listed gone Pod/brief 107",
				"listed event Pulled 108",
			},
		},
		"PastGone": {
			reason: "a discarded past is replaced by the present", since: 104,
			before: (*fakeAPI).expire,
			want:   []string{"baseline Pod/changed 105", "baseline Deployment/d 104", "baseline event Pulled 108"},
		},
		"WatchGone": {
			reason: "without a watch from the past, the list of the past gives the differences", since: 104,
			before: func(f *fakeAPI) { f.with(func() { f.gone = f.version }) },
			want: []string{
				"baseline Pod/changed 103", "baseline Deployment/d 104", "listed Pod/changed 105",
				"listed event Pulled 108",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.put(podsPath, "ours", "p")
			f.put(nodesPath, "", "n")
			f.put(podsPath, "theirs", "changed")
			f.put(deploymentsPath, "theirs", "d")
			o := &ours{set: map[string]bool{"ours": true}}
			wd := watchingAs(t, f, func(c *Config) { c.Wanted = o.wanted })
			wd.watch(all)
			wd.present()
			f.put(podsPath, "theirs", "changed")
			f.put(podsPath, "theirs", "brief")
			f.remove(podsPath, "theirs", "brief")
			f.put(eventsPath, "theirs", "e", "reason", "Pulled")
			f.put(podsPath, "ours", "q")
			wd.awaitLine("Pod/q 109")
			wd.awaitPosition("events.events.k8s.io//", "108")
			mine := []string{"baseline Pod/p 101", "baseline Node/n 102", "Pod/q 109"}
			wd.want("objects in other namespaces are dropped", slices.Clone(mine)...)

			if tc.before != nil {
				tc.before(f)
			}
			o.put("theirs", true)
			wd.Include(t.Context(), "theirs", tc.since)
			wd.sync()
			wd.want(tc.reason, slices.Concat(mine, tc.want)...)
			f.put(podsPath, "theirs", "live")
			wd.awaitLine("Pod/live 110")

			o.put("theirs", false)
			wd.Left("theirs")
			f.put(podsPath, "theirs", "unseen")
			f.put(podsPath, "ours", "r")
			wd.awaitLine("Pod/r 112")
			f.breakOff(podsPath, func() {
				f.put(podsPath, "ours", "s")
				f.remove(podsPath, "ours", "q")
			})
			wd.awaitLine("listed gone Pod/q 114")
			wd.want("objects of a namespace that was left are neither observed nor reported as gone",
				slices.Concat(
					mine, tc.want, []string{"Pod/live 110", "Pod/r 112", "listed Pod/s 113", "listed gone Pod/q 114"},
				)...)
		})
	}
}

// Objects of a newly wanted namespace existed before the relist, so they are not changes. The order
// of relist and Include does not matter.
func TestRelistBeforeInclude(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "theirs", "a")
	f.put(podsPath, "theirs", "changed")
	o := &ours{set: map[string]bool{}}
	wd := watchingAs(t, f, func(c *Config) { c.Wanted = o.wanted })
	wd.watch(all)
	wd.present()
	f.breakOff(podsPath, func() {
		o.put("theirs", true)
		f.put(podsPath, "theirs", "changed")
	})
	wd.awaitLine("listed Pod/changed 103")
	wd.want("only objects stored in between are changes", "baseline Pod/a 101", "listed Pod/changed 103")
}

// A relist after Include knows the objects from Include: it neither repeats them nor misses their
// removal.
func TestRelistAfterInclude(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "theirs", "a")
	f.put(podsPath, "theirs", "b")
	o := &ours{set: map[string]bool{}}
	wd := watchingAs(t, f, func(c *Config) { c.Wanted = o.wanted })
	wd.watch(all)
	wd.sync()
	o.put("theirs", true)
	wd.Include(t.Context(), "theirs", 0)
	wd.sync()
	f.breakOff(podsPath, func() { f.remove(podsPath, "theirs", "a") })
	wd.awaitLine("listed gone Pod/a 103")
	wd.want("existing objects are not changes", "baseline Pod/a 101", "baseline Pod/b 102", "listed gone Pod/a 103")
}

func TestEventsOfClusterScopedObjectsAreWanted(t *testing.T) {
	f := newFakeAPI(t)
	f.put(eventsPath, "default", "n", "reason", "NodeReady", "regarding", map[string]any{"kind": "Node", "name": "n"})
	f.put(eventsPath, "default", "p", "reason", "Pulled", "regarding", map[string]any{
		"kind": "Pod", "namespace": "default", "name": "p",
	})
	wd := watchingAs(t, f, func(c *Config) { c.Wanted = func(string) bool { return false } })
	wd.watch(all)
	wd.sync()
	wd.want("an Event counts as its regarded object", "baseline event NodeReady 101")
}

// Namespaces come and go while objects change. At the end, the last observation of each wanted
// object matches the server.
func TestNothingIsLostWhileNamespacesChange(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.bookmarks = true })
	o := &ours{set: map[string]bool{}}
	wd := watchingAs(t, f, func(c *Config) { c.Wanted = o.wanted })
	wd.watch(all)
	wd.sync()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			ns := fmt.Sprintf("n%d", i%6)
			f.put(podsPath, ns, fmt.Sprintf("%s-p%d", ns, i%12))
			if i%10 == 9 {
				f.remove(podsPath, ns, fmt.Sprintf("%s-p%d", ns, i%12))
			}
		}
	}()
	for i := range 6 {
		ns := fmt.Sprintf("n%d", i)
		f.mu.Lock()
		since := uint64(f.version)
		f.mu.Unlock()
		o.put(ns, true)
		wd.Include(t.Context(), ns, since)
		if i%2 == 1 {
			o.put(ns, false)
			wd.Left(ns)
		}
	}
	<-done
	wd.sync()
	last := map[string]string{}
	f.mu.Lock()
	for _, h := range f.history {
		what := fmt.Sprintf("Pod/%s %d", h.name, h.version)
		if h.object == nil {
			what = fmt.Sprintf("gone Pod/%s %d", h.name, h.version)
		}
		if o.wanted(h.namespace) {
			last[h.name] = what
		}
	}
	f.mu.Unlock()
	for _, what := range last {
		wd.await(what, func() bool {
			return slices.ContainsFunc(wd.lines, func(line string) bool { return strings.HasSuffix(line, what) })
		})
	}
}
