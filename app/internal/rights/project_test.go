// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// all sees everything.
var all = Sees{func(object.Ref) bool { return true }, func(trace.TraceID) bool { return true }}

// outline returns the tree of a trace.
func outline(t *span.Trace) string {
	if t == nil {
		return "nothing"
	}
	out := string(t.Outcome)
	if t.Reason != "" {
		out += ": " + t.Reason
	}
	depth := map[trace.SpanID]int{}
	for _, s := range t.Spans {
		depth[s.ID] = depth[s.Parent] + 1
		out += "\n" + strings.Repeat("  ", depth[s.ID]) + strings.TrimSpace(s.Name+" "+s.Object.Name)
		if s.Message != "" {
			out += ": " + s.Message
		}
	}
	return out
}

func in(namespace string, ref object.Ref) object.Ref {
	ref.Namespace = namespace
	return ref
}

// TestProject: the tree, the outcome and the reason are those of the visible part.
func TestProject(t *testing.T) {
	within := func(namespace string) Sees {
		return Sees{Object: func(o object.Ref) bool { return o.Namespace == namespace }}
	}
	// shop/web is below a platform's object, and one of its Pods has a volume.
	story := func() (*spantest.Builder, *span.Span, *span.Span) {
		b := spantest.New("rights")
		run := b.Run("kubectl apply -f platform.yaml", 0, 900)
		add := func(up *span.Span, ref object.Ref, start, end int) *span.Span {
			s := b.Add(up, "reconcile "+ref.Kind.Kind, "controller", ref, start, end)
			s.Outcome = span.Converged
			return s
		}
		app := add(run, in("argocd", spantest.Ref("argoproj.io", "Application", "web")), 0, 900)
		web := add(app, in("shop", spantest.Ref("apps", "Deployment", "web")), 10, 800)
		volume := add(web, in("", spantest.Ref("", "PersistentVolume", "pv-7")), 20, 90)
		pod := add(volume, in("shop", spantest.Ref("", "Pod", "web-1")), 30, 700)
		b.Trace.Outcome = span.Converged
		return b, web, pod
	}
	for name, tc := range map[string]struct {
		reason string
		edit   func(t *span.Trace, web, pod *span.Span)
		sees   Sees
		want   string
	}{
		"Nothing": {"", nil, within("other"), "nothing"},
		"Part": {"a command may name hidden objects; a hidden ancestor has no name", nil, within("shop"), `converged
  outside your namespaces
    reconcile Deployment web
      reconcile Pod web-1`},
		"Top": {"", nil, within("argocd"), `converged
  outside your namespaces
    reconcile Application web`},
		"HiddenFailure": {
			"a failure outside is not one of the visible part", func(t *span.Trace, _, _ *span.Span) {
				t.Spans[1].Outcome, t.Outcome, t.Reason = span.Failed, span.Failed, "Application web failed"
			}, within("shop"), `converged
  outside your namespaces
    reconcile Deployment web
      reconcile Pod web-1`,
		},
		"Blame": {
			"a sentence that names a hidden object becomes neutral", func(t *span.Trace, web, pod *span.Span) {
				web.Outcome, t.Outcome = span.Failed, span.Failed
				web.Attributes = append(web.Attributes, span.KeyReason.String("volume"),
					span.KeyReasonObject.String("PersistentVolume pv-7"),
					span.KeyReasonMessage.String("PersistentVolume pv-7 is lost"))
				t.Reason = "Deployment web failed: PersistentVolume pv-7 is lost"
				pod.Message = "waits for pv-7."
			}, within("shop"), `failed: does not have its desired state
  outside your namespaces
    reconcile Deployment web: does not have its desired state
      reconcile Pod web-1: does not have its desired state`,
		},
		"BlameElsewhere": {
			"an object that the trace does not have is hidden, too", func(t *span.Trace, web, _ *span.Span) {
				web.Outcome, t.Outcome = span.Failed, span.Failed
				web.Attributes = append(web.Attributes, span.KeyReason.String("node"),
					span.KeyReasonObject.String("Node n-1"), span.KeyReasonMessage.String("Node n-1 is not ready"))
			}, within("shop"), `failed: does not have its desired state
  outside your namespaces
    reconcile Deployment web: does not have its desired state
      reconcile Pod web-1`,
		},
		"BlameNeighbour": {
			"an object of a built-in kind names one of its own namespace", func(t *span.Trace, web, _ *span.Span) {
				web.Outcome, t.Outcome = span.Failed, span.Failed
				web.Attributes = append(web.Attributes, span.KeyReason.String("crash_loop"),
					span.KeyReasonObject.String("Pod web-9"), span.KeyReasonMessage.String("Pod web-9 crashes"))
			}, within("shop"), `failed: Pod web-9 crashes
  outside your namespaces
    reconcile Deployment web
      reconcile Pod web-1`,
		},
		"Own": {
			"the text of a visible object is its own", func(t *span.Trace, web, _ *span.Span) {
				web.Outcome, web.Message, t.Outcome = span.Failed, "exceeded its progress deadline", span.Failed
			}, within("shop"), `failed: exceeded its progress deadline
  outside your namespaces
    reconcile Deployment web: exceeded its progress deadline
      reconcile Pod web-1`,
		},
	} {
		b, web, pod := story()
		if tc.edit != nil {
			tc.edit(b.Trace, web, pod)
		}
		before := outline(b.Trace)
		if diff := cmp.Diff(tc.want, outline(Project(b.Trace, tc.sees))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if Project(b.Trace, all) != b.Trace || outline(b.Trace) != before {
			t.Errorf("%s: everything is not the trace itself", name)
		}
	}
}

// TestProjectFacts: the data for questions have nothing of hidden objects.
func TestProjectFacts(t *testing.T) {
	b := spantest.New("facts")
	web := b.Deployment(nil, 0, 900)
	pod := b.Pod(web, "web-1", 10, 800)
	node := spantest.Ref("", "Node", "n-1")
	pod.Attributes = append(pod.Attributes, span.KeyReason.String("node"), span.KeyReasonObject.String("Node n-1"),
		span.KeyHeals.String("Pod web-0"), span.KeyDrift.String("Application web"), span.KeyZone.String("a"))
	pod.Facts = &span.Facts{
		Reason: "node", Workload: "Deployment/web", Pod: &span.PodFacts{Node: "n-1", Zone: "a", Volumes: 2},
		Writes: []span.Write{{Verb: "update"}, {Verb: "update", Of: &node}},
	}
	want := &span.Facts{
		Pod: &span.PodFacts{Node: "n-1", Volumes: 2}, Writes: []span.Write{{Verb: "update"}},
	}
	got := Project(b.Trace, Sees{Object: func(o object.Ref) bool { return kind.Pod.Is(o.Kind) }})
	part := got.Spans[slices.IndexFunc(got.Spans, func(s *span.Span) bool { return s.ID == pod.ID })]
	if diff := cmp.Diff(want, part.Facts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, kv := range part.Attributes {
		switch kv.Key {
		case span.KeyReason, span.KeyReasonObject, span.KeyDrift, span.KeyZone:
			t.Errorf("%s is left", kv.Key)
		}
	}
	if len(Mentioned(b.Trace)) != 2 { // the Node is an object of the trace
		t.Errorf("mentioned: %v", Mentioned(b.Trace))
	}
}

// recorded returns the traces of a recording of the engine's tests.
func recorded(t *testing.T, name string) []*span.Trace {
	t.Helper()
	in, err := observation.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	e := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
	var last time.Time
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			return e.Traces(last.Add(time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Observe(o)
		last = o.Seen
	}
}

// secrets returns the texts of hidden objects that no visible one has: UIDs, and names that no other name contains. The
// name of a Node and of a volume is also a field of a visible Pod and claim.
func secrets(t *span.Trace, sees Sees) []string {
	var visible strings.Builder
	var hidden []object.Ref
	for _, s := range t.Spans {
		switch {
		case s.Object == (object.Ref{}):
		case sees.Object(s.Object):
			fmt.Fprintln(&visible, s.Object.Name, s.Object.Namespace)
		default:
			hidden = append(hidden, s.Object)
		}
	}
	var out []string
	for _, o := range hidden {
		out = append(out, string(o.UID))
		field := kind.Node.Is(o.Kind) || kind.PersistentVolume.Is(o.Kind)
		if len(o.Name) > 5 && !field && !strings.Contains(visible.String(), o.Name) {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestNoSecrets: over all recordings and random objects, no text of a hidden object is in the projection, whose tree is
// whole. A projection of a projection changes nothing.
func TestNoSecrets(t *testing.T) {
	all, err := filepath.Glob("../lifecycle/testdata/*.jsonl.gz")
	if err != nil || len(all) < 20 {
		t.Fatal(len(all), err)
	}
	rounds, parts := 8, 0
	for _, name := range all {
		for _, tr := range recorded(t, name) {
			random := rand.New(rand.NewPCG(1, uint64(len(tr.Spans))))
			for range rounds {
				permitted := map[types.UID]bool{}
				for _, o := range tr.Spans {
					permitted[o.Object.UID] = random.IntN(2) == 0
				}
				sees := Sees{Object: func(o object.Ref) bool { return o != (object.Ref{}) && permitted[o.UID] }}
				got := Project(tr, sees)
				if got == nil {
					continue
				}
				if got != tr {
					parts++
				}
				checkTree(t, name, got)
				text := slices.Concat(span.ToJSON([]*span.Trace{got}, "recorded"), facts(t, got))
				for _, secret := range secrets(tr, sees) {
					if at := strings.Index(string(text), secret); at >= 0 {
						t.Errorf("%s: trace %s has %q of a hidden object: %s", filepath.Base(name), tr.ID, secret,
							text[max(0, at-200):min(len(text), at+100)])
						return
					}
				}
			}
		}
	}
	if parts < 20 {
		t.Errorf("only %d projections were parts: the test shows nothing", parts)
	}
}

// facts returns the data for questions, as text.
func facts(t *testing.T, of *span.Trace) []byte {
	t.Helper()
	var all []*span.Facts
	for _, s := range of.Spans {
		all = append(all, s.Facts)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkTree: each span but the roots has its parent before it.
func checkTree(t *testing.T, name string, of *span.Trace) {
	t.Helper()
	seen := map[trace.SpanID]bool{}
	for _, s := range of.Spans {
		if s.Parent.IsValid() && !s.RemoteParent && !seen[s.Parent] {
			t.Errorf("%s: the parent of %s is not before it", name, s.Name)
		}
		seen[s.ID] = true
	}
}
