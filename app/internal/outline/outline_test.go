// SPDX-License-Identifier: Apache-2.0

package outline_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/outline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

var now = spantest.Epoch.Add(time.Hour)

// lines returns an outline as text, one line a node.
func lines(n *outline.Node) []string {
	var out []string
	var add func(n *outline.Node, depth int)
	add = func(n *outline.Node, depth int) {
		text := strings.Repeat("  ", depth)
		switch {
		case n.Span != nil:
			text += n.Span.Name
		case n.Group != nil:
			text += fmt.Sprintf("%d × %s", n.Group.Count, n.Group.Name)
		default:
			text += "top"
		}
		text += fmt.Sprintf(" (%d)", n.Spans)
		if n.OthersKey != (outline.Key{}) {
			text += fmt.Sprintf(" +%d others", n.Others)
		}
		if n.More > 0 {
			text += fmt.Sprintf(" +%d more", n.More)
		}
		out = append(out, text)
		for _, c := range n.Children {
			add(c, depth+1)
		}
	}
	add(n, 0)
	return out
}

// find returns the first node with a span of this name, or a group of them.
func find(n *outline.Node, name string) *outline.Node {
	if n.Span != nil && n.Span.Name == name || n.Group != nil && n.Group.Name == name {
		return n
	}
	for _, c := range n.Children {
		if found := find(c, name); found != nil {
			return found
		}
	}
	return nil
}

// TestOthers: the spans of other components are counted, and opened one level at a time.
func TestOthers(t *testing.T) {
	tree := outline.New(spantest.Joined(), now)
	got := tree.Outline()
	want := []string{
		"top (24)",
		"  run (24)",
		"    reconcile Deployment (23)",
		"      create Deployment (6) +5 others",
		"      reconcile ReplicaSet (16)",
		"        reconcile Pod (15) +9 others",
		"          schedule (1)",
		"          sandbox (1)",
		"          pull image (1)",
		"          start container (1)",
		"          readiness (1)",
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	opened, err := tree.Open(find(got, "reconcile Pod").OthersKey)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"top (0)", "  syncPod (9) +8 others"}
	if diff := cmp.Diff(want, lines(opened)); diff != "" {
		t.Errorf("opened: -want +got:\n%s", diff)
	}
}

// TestOthersAlone: a trace without spans of Lifeline shows its roots.
func TestOthersAlone(t *testing.T) {
	b := spantest.New("foreign")
	root := b.Add(nil, "GET /", "shop", spantest.Ref("", "", ""), 0, 10)
	b.Add(root, "query", "db", spantest.Ref("", "", ""), 1, 9)
	for _, s := range b.Trace.Spans {
		s.Origin = &span.Origin{}
	}
	want := []string{"top (2)", "  GET / (2) +1 others"}
	if diff := cmp.Diff(want, lines(outline.New(b.Trace, now).Outline())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// pods returns a ReplicaSet with many alike Pods, a failed one and one with another image. Pod i takes
// i+1 milliseconds.
func pods(n int) *span.Trace {
	b := spantest.New("pods")
	up := b.Add(nil, "reconcile ReplicaSet", "kube-controller-manager", spantest.Ref("apps", "ReplicaSet", "web"), 0, n)
	for i := range n {
		ref := spantest.Ref("", "Pod", fmt.Sprintf("web-%d", i))
		pod := b.Add(up, "reconcile Pod", "kubelet", ref, i, 2*i+1)
		image := "web:1"
		switch i {
		case 3:
			pod.Outcome, pod.Status = span.Failed, span.StatusError
		case 5:
			image = "web:2"
		}
		b.Add(pod, span.NamePull, "kubelet", ref, i, 2*i+1, span.KeyImage.String(image))
	}
	return b.Trace
}

// TestGroup: siblings that are alike are a group. One with another outcome or image is not in it.
func TestGroup(t *testing.T) {
	tree := outline.New(pods(102), now)
	got := tree.Outline()
	want := []string{
		"top (205)", "  reconcile ReplicaSet (205)", "    100 × reconcile Pod (200)",
		"    reconcile Pod (2)", "      pull image (1)", "    reconcile Pod (2)", "      pull image (1)",
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	g := find(got, "reconcile ReplicaSet").Children[0].Group
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	// the members take 1, 2, 3, 5, 7, 8, … 102 ms
	if diff := cmp.Diff([5]time.Duration{ms(1), ms(52), ms(92), ms(101), ms(102)}, g.Quantiles); diff != "" {
		t.Errorf("quantiles: -want +got:\n%s", diff)
	}
	var far []time.Duration
	for _, s := range g.Outliers {
		far = append(far, s.Duration(now))
	}
	if diff := cmp.Diff([]time.Duration{ms(1), ms(2), ms(102), ms(3), ms(101)}, far); diff != "" {
		t.Errorf("outliers: -want +got:\n%s", diff)
	}
	likeness := outline.Likeness{
		Name: "reconcile Pod", Kind: "Pod", Phases: []string{"pull image"}, Images: []string{"web:1"},
	}
	if diff := cmp.Diff(likeness, g.Likeness); diff != "" {
		t.Errorf("likeness: -want +got:\n%s", diff)
	}
	opened, err := tree.Open(g.Key)
	if err != nil {
		t.Fatal(err)
	}
	if len(opened.Children) != 100 || opened.More != 0 {
		t.Errorf("the opened group has %d members and %d more", len(opened.Children), opened.More)
	}
}

// TestComplete: the keys of an outline reach every span of any trace, once, and each answer is bounded.
func TestComplete(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			all := random(rand.New(rand.NewPCG(seed, 1)))
			tree := outline.New(all, now)
			seen := map[*span.Span]bool{}
			ids := map[trace.SpanID]int{}
			keys := walk(t, tree.Outline(), seen, ids)
			for len(keys) > 0 {
				k, err := outline.ParseKey(keys[0].String())
				if err != nil || k != keys[0] {
					t.Fatalf("key %v came back as %v: %v", keys[0], k, err)
				}
				n, err := tree.Open(k)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys[1:], walk(t, n, seen, ids)...)
			}
			for _, s := range all.Spans {
				if ids[s.ID] == 0 {
					t.Errorf("span %s was not reached", s.ID)
				}
			}
			if len(seen) != len(all.Spans) {
				t.Errorf("%d nodes for %d spans", len(seen), len(all.Spans))
			}
		})
	}
}

// walk notes the spans of an answer, and returns its keys.
func walk(t *testing.T, top *outline.Node, seen map[*span.Span]bool, ids map[trace.SpanID]int) (keys []outline.Key) {
	nodes := 0
	var visit func(n *outline.Node)
	visit = func(n *outline.Node) {
		nodes++
		if len(n.Children) > outline.PageLength {
			t.Errorf("a list of %d nodes", len(n.Children))
		}
		if n.Span != nil {
			if seen[n.Span] {
				t.Fatalf("span %s appears twice", n.Span.ID)
			}
			seen[n.Span] = true
			ids[n.Span.ID]++
		}
		for _, k := range []outline.Key{n.OthersKey, n.MoreKey} {
			if k != (outline.Key{}) {
				keys = append(keys, k)
			}
		}
		if n.Group != nil {
			keys = append(keys, n.Group.Key)
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(top)
	if nodes > outline.MaxNodes+outline.PageLength {
		t.Errorf("an answer of %d nodes", nodes)
	}
	return keys
}

// random returns a trace with spans of all sorts: alike ones, other components', cycles, missing parents,
// and repeated IDs.
func random(r *rand.Rand) *span.Trace {
	b := spantest.New(fmt.Sprint(r.Uint64()))
	names := []string{"reconcile Pod", "sandbox", "reconcile Deployment"}
	n := 1 + r.IntN(50)
	if r.IntN(4) == 0 {
		n = 12_000
	}
	for i := range n {
		var parent *span.Span
		if i > 0 && r.IntN(20) > 0 {
			parent = b.Trace.Spans[r.IntN(min(i, 1+r.IntN(i)))]
		}
		ref := spantest.Ref("", "Pod", fmt.Sprint(r.IntN(3)))
		s := b.Add(parent, names[r.IntN(len(names))], "kubelet", ref, r.IntN(100), 100+r.IntN(100))
		if r.IntN(3) == 0 {
			s.Origin = &span.Origin{}
		}
		switch r.IntN(100) {
		case 0:
			s.Parent = trace.SpanID{1} // missing
		case 1:
			s.Parent = b.Trace.Spans[r.IntN(i+1)].ID
		case 2:
			b.Trace.Spans[r.IntN(i+1)].Parent = s.ID // perhaps a cycle
		case 3:
			s.ID = b.Trace.Spans[r.IntN(i+1)].ID
		}
	}
	return b.Trace
}

// TestOpen: a key of another trace, or beyond the end, is an error.
func TestOpen(t *testing.T) {
	tree := outline.New(spantest.Joined(), now)
	for _, text := range []string{"c0000000000000001", "o0000000000000000", "c0000000000000000:1"} {
		k, err := outline.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := tree.Open(k); !errors.Is(err, outline.ErrKey) {
			t.Errorf("%s: %v, %v, want ErrKey", text, n, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, text := range []string{"", "c", "c0000000000000000:12", "g000000000000000a00c0ffee", "o00", "x0000000000000000", "c0000000000000000:0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := outline.ParseKey(text)
		switch {
		case err != nil && !errors.Is(err, outline.ErrKey):
			t.Errorf("error %v", err)
		case err == nil && !strings.EqualFold(k.String(), text):
			t.Errorf("%q came back as %q", text, k)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	all := spantest.Many(2000)
	b.ReportAllocs()
	for b.Loop() {
		outline.New(all, now).Outline()
	}
}
