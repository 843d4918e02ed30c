// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// all is the scope of the whole cluster.
var all = Scope{}

func (wd *watched) watch(scope Scope) {
	wd.t.Helper()
	if err := wd.Watch(wd.t.Context(), scope); err != nil {
		wd.t.Fatal(err)
	}
}

// definitions is the key of the stream of CustomResourceDefinitions. Its position reveals removed
// kinds.
const definitions = "customresourcedefinitions.apiextensions.k8s.io//"

// eventStream is the key of the stream of Events.
const eventStream = "events.events.k8s.io//"

// awaitPosition waits until a stream has reached a version, and returns the positions of all
// streams.
func (wd *watched) awaitPosition(key, version string) []Position {
	wd.t.Helper()
	wd.await(key+" at "+version, func() bool {
		p, told := wd.reached[key]
		return told && p.Version == version
	})
	wd.mu.Lock()
	defer wd.mu.Unlock()
	return slices.Collect(maps.Values(wd.reached))
}

// known returns the objects of the fake API server as an engine would know them.
func known(objects map[string]uint64) iter.Seq2[object.Ref, uint64] {
	return func(yield func(object.Ref, uint64) bool) {
		for text, version := range objects {
			kind, name, _ := strings.Cut(text, "/")
			ref := object.Ref{Kind: object.Kind{
				Version: "v1", Kind: kind,
			}, Namespace: "default", Name: name, UID: types.UID("uid-" + name)}
			if kind == "Head" {
				ref.Kind.Group = "example.com"
			}
			if !yield(ref, version) {
				return
			}
		}
	}
}

func TestResume(t *testing.T) {
	heads := Position{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "heads"}, Version: "90",
	}
	cases := map[string]struct {
		reason  string
		known   map[string]uint64
		between func(f *fakeAPI)
		last    string
		want    []string
		lists   int        // complete lists of Pods
		left    []Position // further positions, of removed resources
	}{
		"Nothing": {
			reason: "without changes there are no observations", known: map[string]uint64{
				"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103,
			},
			between: func(*fakeAPI) {}, last: "Pod/after 104", want: []string{"Pod/after 104"},
		},
		"Changes": {
			reason: "every change in between is emitted as late", known: map[string]uint64{
				"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103,
			},
			between: changesOfPods, last: "Pod/after 110",
			want: []string{
				"listed Pod/changed 104", "listed Pod/changed 105", "listed gone Pod/removed 106",
				"listed Pod/new 107", "listed event Pulled 109", "Pod/after 110",
			},
		},
		"Forgotten": {
			reason: "discarded changes are found by comparison", known: map[string]uint64{
				"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103,
			},
			between: func(f *fakeAPI) { changesOfPods(f); f.expire() }, last: "Pod/after 110", lists: 1,
			want: []string{
				"listed Pod/changed 105", "listed gone Pod/removed 109", "listed Pod/new 107",
				"listed event Pulled 109", "Pod/after 110",
			},
		},
		"ForgottenAndUnknown": {
			reason:  "without known objects all objects are changes, none a baseline",
			between: func(f *fakeAPI) { changesOfPods(f); f.expire() }, last: "Pod/after 110", lists: 1,
			want: []string{
				"listed Pod/same 101", "listed Pod/changed 105", "listed Pod/new 107", "listed event Pulled 109",
				"Pod/after 110",
			},
		},
		"SetBack": {
			reason: "a restored, older storage is compared without waiting", known: map[string]uint64{
				"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103,
			},
			between: func(f *fakeAPI) {
				f.with(func() { f.version, f.history = 102, f.history[:1] })
			},
			last: "Pod/after 103", lists: 1,
			want: []string{"listed gone Pod/changed 102", "listed gone Pod/removed 102", "Pod/after 103"},
		},
		"Definitions": {
			reason: "a kind added in between is observed with its first objects",
			known:  map[string]uint64{"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103},
			between: func(f *fakeAPI) {
				f.put(crdsPath, "", "heads.example.com")
				f.with(func() { f.kinds["example.com/v1"] = []kindOffered{{"heads", "Head", true}} })
				f.put("/apis/example.com/v1/heads", "default", "h")
			},
			last: "Pod/after 106",
			want: []string{
				"listed CustomResourceDefinition/heads.example.com 104", "listed Head/h 105", "Pod/after 106",
			},
		},
		"Undefined": {
			reason: "the objects of a kind removed in between are gone",
			known:  map[string]uint64{"Pod/same": 101, "Pod/changed": 102, "Pod/removed": 103, "Head/h": 90},
			between: func(f *fakeAPI) {
				f.put(crdsPath, "", "heads.example.com")
				f.remove(crdsPath, "", "heads.example.com")
			},
			last: "listed gone Head/h 105", left: []Position{heads},
			want: []string{
				"listed CustomResourceDefinition/heads.example.com 104",
				"listed gone CustomResourceDefinition/heads.example.com 105", "listed gone Head/h 105",
				"Pod/after 106",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.put(podsPath, "default", "same")
			f.put(podsPath, "default", "changed")
			f.put(podsPath, "default", "removed")
			first := watching(t, f)
			first.watch(all)
			first.sync()
			for _, stream := range []string{definitions, eventStream} {
				first.await("the position of "+stream, func() bool { return first.reached[stream].Version != "" })
			}
			positions := append(first.awaitPosition("pods//", "103"), tc.left...)
			first.Close()
			tc.between(f)
			f.with(func() { f.requests = nil })

			wd := watchingAs(t, f, func(c *Config) {
				c.Resume, c.Known = positions, known(tc.known)
				c.Messages.Default = mask.Strict // TestLearn lists more
			})
			wd.watch(all)
			wd.sync()
			f.put(podsPath, "default", "after")
			wd.awaitLine(tc.last)
			wd.await("Pod/after", func() bool {
				return slices.ContainsFunc(
					wd.lines, func(line string) bool { return strings.HasPrefix(line, "Pod/after") },
				)
			})
			wd.want(tc.reason, tc.want...)
			for _, p := range tc.left {
				wd.awaitPosition(p.Key(), "")
			}
			if n := len(f.asked("/api/v1/pods", "limit=250")); n != tc.lists {
				t.Errorf("%s: want %d lists of Pods, got %v", tc.reason, tc.lists, f.asked("/api/v1/pods"))
			}
		})
	}
}

// TestLearn: a resumed watch lists the present objects for the values that messages must not show. It emits none of
// them.
func TestLearn(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "same", "annotations", map[string]any{"a": "a-value"})
	first := watching(t, f)
	first.watch(all)
	first.sync()
	positions := first.awaitPosition("pods//", "101")
	first.await("the position of the Events", func() bool { return first.reached[eventStream].Version != "" })
	first.Close()
	f.put(eventsPath, "default", "e", "reason", "Failed", "note", "it uses a-value", "regarding",
		map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "same", "uid": "uid-same"})

	notes := make(chan string, 1)
	wd := watchingAs(t, f, func(c *Config) {
		c.Resume, c.Known = positions, known(map[string]uint64{"Pod/same": 101})
		emit := c.Emit
		c.Emit = func(o *observation.Observation) {
			if o.Event != nil {
				notes <- o.Event.Note
			}
			emit(o)
		}
	})
	wd.watch(all)
	if got := <-notes; got != "“it uses …”" {
		t.Errorf("got %q", got)
	}
	wd.mu.Lock()
	defer wd.mu.Unlock()
	for _, line := range wd.lines {
		if strings.Contains(line, "Pod/same") {
			t.Errorf("the list for values emitted %q", line)
		}
	}
}

func changesOfPods(f *fakeAPI) {
	f.put(podsPath, "default", "changed")
	f.put(podsPath, "default", "changed")
	f.remove(podsPath, "default", "removed")
	f.put(podsPath, "default", "new")
	f.put(eventsPath, "default", "expired", "reason", "Expired")
	f.with(func() { f.history = f.history[:len(f.history)-1] })
	f.put(eventsPath, "default", "e", "reason", "Pulled")
}

func TestPositionsAreToldAfterWhatTheyCover(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.bookmarks = true })
	f.put(podsPath, "default", "a")
	wd := watchingAs(t, f, func(*Config) {})
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	wd.awaitPosition("pods/default/", "101")
	f.put(podsPath, "default", "b")
	wd.awaitPosition("pods/default/", "102")
	wd.want("everything up to the position was emitted", "baseline Pod/a 101", "Pod/b 102")
	f.put(podsPath, "other", "unseen")
	wd.awaitPosition("pods/default/", "103")
	wd.awaitPosition("events.events.k8s.io/default/", "103")
}

func TestResumeOfWhatMayNotBeRead(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[podsPath] = http.StatusForbidden })
	wd := watchingAs(t, f, func(c *Config) { c.Resume = []Position{{Resource: pods, Version: "100"}} })
	wd.watch(all)
	wd.sync()
	wd.await("a warning", func() bool { return len(wd.warns) == 1 })
}

func TestPositionText(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Position
		key    string
		fails  bool
	}{
		"Core": {reason: "a core resource has no group", text: "/v1/pods///12", want: Position{
			Resource: pods, Version: "12",
		}, key: "pods//"},
		"Namespaced": {reason: "the namespace is a part", text: "apps/v1/deployments/shop//7", want: Position{
			Resource: kind.Deployment.GroupVersionResource(), Namespace: "shop", Version: "7",
		}, key: "deployments.apps/shop/"},
		"Named": {reason: "the name is a part", text: "/v1/nodes//n1/7", want: Position{
			Resource: nodes, Name: "n1", Version: "7",
		}, key: "nodes//n1"},
		"Other": {
			reason: "the key omits the API version", text: "apps/v2/deployments/shop//7",
			key: "deployments.apps/shop/",
			want: Position{Resource: schema.GroupVersionResource{
				Group: "apps", Version: "v2", Resource: "deployments",
			}, Namespace: "shop", Version: "7"},
		},
		"Short":     {reason: "parts are missing", text: "apps/v1/deployments/7", fails: true},
		"NoVersion": {reason: "the resourceVersion is missing", text: "/v1/pods///", fails: true},
		"Empty":     {reason: "an empty text is not a position", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePosition(tc.text)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: got error %v", tc.reason, err)
			}
			if tc.fails {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.String() != tc.text || got.Key() != tc.key {
				t.Errorf("%s: got %q, key %q", tc.reason, got.String(), got.Key())
			}
		})
	}
}

// TestKnownWithoutPosition: an earlier process ended during its first list. The next first list is compared with
// the objects that it knew: they may have changed or gone since.
func TestKnownWithoutPosition(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "same")
	f.put(podsPath, "default", "changed")
	f.put(podsPath, "default", "new")
	wd := watchingAs(t, f, func(c *Config) {
		c.Known = known(map[string]uint64{"Pod/same": 101, "Pod/changed": 90, "Pod/removed": 91})
	})
	wd.watch(all)
	wd.awaitPosition("pods//", "103")
	wd.want("known objects are no part of the state at the start",
		"listed Pod/changed 102", "baseline Pod/new 103", "listed gone Pod/removed 103")
}
