// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// lacking is an object of a namespace with a problem after a change.
func lacking(namespace, name, key string, minute int) *Failing {
	return &Failing{
		Object: object.Ref{
			Kind: object.Kind{Kind: "Deployment"}, Namespace: namespace, Name: name, UID: types.UID(namespace + name),
		},
		Category: "image_not_found", Text: "cannot pull image " + key, Key: Grouping{Of: key}, Rank: 1,
		Onset: Onset{At: start.Add(time.Duration(minute) * time.Minute)},
		Cause: &Cause{TraceID: name},
	}
}

// TestSnapshotStays: a snapshot does not change with its Tracker, and knows each object and change.
func TestSnapshotStays(t *testing.T) {
	tracker := NewTracker("c")
	for i := range MaxProblems + 5 {
		tracker.Lacks(lacking("shop", time.Duration(i).String(), time.Duration(i).String(), i), start)
	}
	s := tracker.Snapshot(start)
	if len(s.Problems) != MaxProblems || s.More != 5 {
		t.Errorf("%d problems and %d more", len(s.Problems), s.More)
	}
	last := time.Duration(MaxProblems + 4).String() // the list leaves it out
	if !tracker.Snapshot(start.Add(time.Second)).Same(s) {
		t.Error("the snapshots differ without a change")
	}
	worse := lacking("shop", last, last, MaxProblems+4)
	worse.Text = "is in a crash loop"
	tracker.Lacks(worse, start)
	const want = "cannot pull image "
	for name, p := range map[string]*Problem{
		"object": s.Of(types.UID("shop"+last), nil), "change": s.Present("", last, nil),
	} {
		if p == nil || p.Reason != "Deployment "+last+" "+want+last || p.Count != 1 {
			t.Errorf("by its %s: %+v", name, p)
		}
	}
	if next := tracker.Snapshot(start); next.Same(s) || next.Of(types.UID("shop"+last), nil).Reason == want+last {
		t.Error("the next snapshot is the same")
	}
	for name, p := range map[string]*Problem{
		"another UID": s.Of("x", nil), "no UID": s.Of("", nil), "no snapshot": (*Snapshot)(nil).Of("x", nil),
		"another change": s.Present("", "x", nil), "an empty snapshot": (&Snapshot{}).Present("x", "x", nil),
		"another scope": s.Of(types.UID("shop"+last), func(o object.Ref) bool { return o.Namespace == "other" }),
	} {
		if p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestSnapshotGood: an object with its desired state has no present problem, although the problem has not ended.
func TestSnapshotGood(t *testing.T) {
	tracker := NewTracker("c")
	f := lacking("shop", "web", "web", 0)
	tracker.Lacks(f, start)
	broken := func() bool {
		s := tracker.Snapshot(start)
		if len(s.Problems) != 1 {
			t.Fatalf("%d problems", len(s.Problems))
		}
		of, after := s.Present(f.Object.UID, "", nil) != nil, s.Present("", "web", nil) != nil
		if of != after || s.Of(f.Object.UID, nil) == nil {
			t.Errorf("by the object %t, by the change %t", of, after)
		}
		return of
	}
	before := broken()
	tracker.Arrives(f.Object.UID, start, start.Add(time.Second))
	good := broken()
	tracker.Lacks(f, start)
	again := broken()
	note := *f
	note.Rank = 0
	tracker.Lacks(&note, start)
	if s := tracker.Snapshot(start); len(s.Problems) != 1 || !s.Problems[0].Note {
		t.Errorf("got %+v", s.Problems)
	}
	if noted := broken(); !before || good || !again || noted {
		t.Errorf("broken: %t, then %t, then %t, as a note %t", before, good, again, noted)
	}
}

// TestSelect: a selection is ordered by its own objects, and has the IDs of the whole problems.
func TestSelect(t *testing.T) {
	tracker := NewTracker("c")
	for _, f := range []*Failing{
		lacking("a", "1", "many", 0), lacking("a", "2", "many", 1), lacking("a", "3", "many", 2),
		lacking("b", "4", "many", 3), lacking("b", "5", "few", 4), lacking("b", "6", "few", 5),
	} {
		tracker.Lacks(f, start)
	}
	s := tracker.Snapshot(start)
	got := s.Select(Selection{Matches: func(o object.Ref) bool { return o.Namespace == "b" }, Limit: 10})
	if len(got.Problems) != 2 || got.Problems[0].Object.Name != "5" || got.Problems[0].Count != 2 ||
		got.Problems[1].Object.Name != "4" || got.Problems[1].Count != 1 || got.Problems[1].ID != s.Problems[0].ID {
		t.Errorf("got %+v", got.Problems)
	}
	if all := s.Select(Selection{Limit: 1}); all.More != 1 || all.Problems[0].Count != 4 {
		t.Errorf("got %+v", all)
	}
	each := map[string]int{}
	s.Each(func(kind, category, namespace string) { each[kind+" "+category+" "+namespace]++ })
	if len(each) != 2 || each["Deployment image_not_found a"] != 1 || each["Deployment image_not_found b"] != 2 {
		t.Errorf("got %v", each)
	}
}

// TestHiddenBlamed: nothing about an object that the reader may not see is in the problem of one that it caused.
func TestHiddenBlamed(t *testing.T) {
	tracker := NewTracker("c")
	f := lacking("a", "1", "one", 0)
	f.Blamed = &object.Ref{Kind: object.Kind{Version: "v1", Kind: "Node"}, Name: "hidden"}
	f.Image, f.Next = "hidden:1", "kubectl describe node hidden"
	tracker.Lacks(f, start)
	s := tracker.Snapshot(start)
	got := s.Select(Selection{Exists: func(o object.Ref) bool { return o.Namespace == "a" }, Limit: 10}).Problems
	if len(got) != 1 || !strings.HasSuffix(got[0].Reason, withheld) || got[0].Category != "" || got[0].Image != "" ||
		got[0].Next != "" || got[0].Blamed != nil {
		t.Errorf("got %+v", got)
	}
	if all := s.Select(Selection{Limit: 10}).Problems; all[0].Category == "" || all[0].Image != "hidden:1" {
		t.Errorf("who sees everything gets %+v", all)
	}
}
