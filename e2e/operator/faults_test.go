// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
)

// apply begins a run that applies a manifest.
func apply(t *testing.T, c *harness.Collector, manifest string) *harness.Process {
	t.Helper()
	return bench.Begin(t, harness.Call{Args: []string{
		"run",
		"-o",
		"json",
		"--otlp",
		"grpc://" + c.Endpoint,
		"--",
		"kubectl",
		"apply",
		"-f",
		harness.File(t, manifest),
	}})
}

// exists waits until an object is there.
func exists(t *testing.T, ns, name string) {
	t.Helper()
	harness.Eventually(t, name+" to exist", func() bool {
		out, err := bench.RunKubectl(t.Context(), nil, "-n", ns, "get", name, "--ignore-not-found", "-o", "name")
		return err == nil && strings.TrimSpace(out) != ""
	})
}

// TestKilled: the operator dies at several moments of its work and comes back;
// the change is one trace all the same, without a gap.
func TestKilled(t *testing.T) {
	for name, at := range map[string]string{"before the child": "head/web", "at the child": "childa/web", "at the Deployment": "deployment/web"} {
		t.Run(name, func(t *testing.T) {
			spans := collector(t)
			op := headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
			ns := bench.Namespace(t)
			o := bench.Oracle(t, ns)
			p := apply(t, spans, head(ns, "web", image, 2))
			exists(t, ns, at)
			op.Kill(t)
			op.Resume(t)
			r := harness.Parse(t, p.Wait(t))
			ready(t, ns, "web")
			o.Expect(t, r, below("(annotation)"))
		})
	}
}

// TestSuperseded: a second change while the first is open replaces it, and
// names it.
func TestSuperseded(t *testing.T) {
	harness.Slow(t)
	spans := collector(t)
	op := headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	ns := bench.Namespace(t)
	first := apply(t, spans, head(ns, "web", image, 1000)) // more than the Nodes hold
	exists(t, ns, "deployment/web")
	second := harness.Parse(t, apply(t, spans, head(ns, "web", image, 1)).Wait(t))
	one := harness.Parse(t, first.Wait(t))
	ready(t, ns, "web")
	op.Stop(t)

	if got := one.Traces[0].Find("reconcile Head", "web")[0].Outcome(); got != "superseded" {
		t.Errorf("the first change ended %q, want superseded", got)
	}
	heads := second.Traces[0].Find("reconcile Head", "web")
	if !slices.ContainsFunc(heads[0].Links, func(l harness.Link) bool { return l.Trace == one.Traces[0].ID }) {
		t.Errorf("the second change does not link to the first: %+v", heads[0].Links)
	}
	for _, tr := range append(one.Traces, second.Traces...) {
		if n := len(tr.Orphans()); n > 0 {
			t.Errorf("trace %s has %d orphans", tr.ID, n)
		}
	}
	all := traces(spans, ns)
	whole(t, all)
	for _, tr := range all {
		if tr.ID == second.Traces[0].ID {
			has(
				t,
				tr,
				"admission Head",
				"head-controller reconcile",
				"update ChildA",
				"childa-controller reconcile",
				"update Deployment",
			)
		}
	}
}

// TestHealing: a child that somebody deletes is made again in a trace of its own,
// which names what it reacted to; the operator's spans are part of it.
func TestHealing(t *testing.T) {
	spans := collector(t)
	op := headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	ns := bench.Namespace(t)
	through(t, spans, head(ns, "web", image, 1))
	ready(t, ns, "web")
	r := bench.Run(t, 0, []string{"--otlp", "grpc://" + spans.Endpoint}, "kubectl", "-n", ns, "delete", "childa/web")
	ready(t, ns, "web")
	op.Stop(t)
	if len(r.Traces) != 2 {
		t.Fatalf("got %d traces, want that of the deletion and that of the healing", len(r.Traces))
	}
	names := harness.Names{}
	// What was the old child's goes with it, or is the new one's, whoever comes first.
	if got := names.Outline(r.Traces[0]); !strings.Contains(got, "\n  reconcile ChildA web deleted (request)\n") {
		t.Errorf("the deletion is:\n%s", got)
	}
	healed := r.Traces[1].Find("reconcile ChildA", "web")
	if len(healed) != 1 || healed[0].Attributes["lifeline.heals"] != "ChildA web" ||
		healed[0].Attributes["lifeline.evidence"] != "annotation" {
		t.Errorf("the healing is:\n%s", names.Outline(r.Traces[1]))
	}
	all := traces(spans, ns)
	whole(t, all)
	for _, tr := range all {
		if tr.ID != r.Traces[1].ID {
			continue
		}
		has(t, tr, "create ChildA", "childa-controller reconcile", "reconcile ChildA")
		root := tr.Roots()[0]
		if root.Name != "head-controller reconcile" ||
			!slices.ContainsFunc(root.Links, func(l harness.Link) bool { return l.Why == "healing" }) {
			t.Errorf("the root of the healing is %s with links %v", root.Name, root.Links)
		}
	}
}

// TestConflicts: another writer is always faster; what is refused is in the
// trace, and so is what comes of it in the end.
func TestConflicts(t *testing.T) {
	spans := collector(t)
	op := headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	ns := bench.Namespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	var storm sync.WaitGroup
	defer storm.Wait()
	defer cancel()
	children := client(t).Resource(
		schema.GroupVersionResource{Group: "demo.lifeline.dev", Version: "v1alpha1", Resource: "childas"},
	).Namespace(ns)
	storm.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			// Until it is there, and when the storm ends, this fails.
			_, _ = children.Patch(
				ctx,
				"web",
				types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"annotations":{"storm":"%d"}}}`, i),
				metav1.PatchOptions{},
			)
		}
	})
	p := apply(t, spans, head(ns, "web", image, 1))
	// The Head's own status may meet a conflict as well.
	refused := spans.Await(t, 1, func(s *harness.Span) bool {
		return s.Attributes["lifeline.conflict"] == "true" && s.Name == "update ChildA/status"
	})
	cancel()
	storm.Wait()
	r := harness.Parse(t, p.Wait(t))
	ready(t, ns, "web")
	op.Stop(t)
	if !refused[0].Error {
		t.Errorf("the span %s of the conflict has no error", refused[0].Name)
	}
	whole(t, traces(spans, ns))
	if got := r.Traces[0]; got.Spans[0].Outcome() != "converged" || len(got.Orphans()) > 0 {
		t.Errorf("the change is:\n%s", bench.NamesIn(t, ns).Outline(got))
	}
}

// client talks to the API server as the administrator, as fast as it can.
func client(t *testing.T) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return dynamic.NewForConfigOrDie(config)
}

// TestForeignContext: what somebody writes into the annotation is a hint (P4).
func TestForeignContext(t *testing.T) {
	harness.Slow(t)
	spans := collector(t)
	headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	const forged = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	carry := func(parent, state string) []string {
		lines := []string{"  annotations:", "    trace.kubernetes.io/context: " + parent}
		if state != "" {
			lines = append(lines, "    trace.kubernetes.io/tracestate: "+state)
		}
		return lines
	}
	annotation := func(ns, name, key string) string {
		return bench.MustKubectl(
			t,
			"",
			"-n",
			ns,
			"get",
			"head/"+name,
			"-o",
			`jsonpath={.metadata.annotations.trace\.kubernetes\.io/`+key+`}`,
		)
	}
	tests := map[string]struct {
		reason string
		more   func(t *testing.T, ns string) []string
		kept   bool
		linked bool // admission links to what it replaced
		want   string
	}{
		"broken": {
			reason: "it counts as absent: admission gives another",
			more:   func(*testing.T, string) []string { return carry("00-zz-1", "") },
			want:   below("(annotation)"),
		},
		"forged": {
			reason: "it may be the context of a CI job: it stays, and is no authority over what was seen",
			more:   func(*testing.T, string) []string { return carry(forged, "") },
			kept:   true,
			want: strings.Replace(
				below("(annotation) ~annotation"),
				"Head web converged (request)",
				"Head web converged (request) ~annotation",
				1,
			),
		},
		"saved": {
			reason: "a context that was made for this object's former life is replaced, and linked",
			linked: true,
			more: func(t *testing.T, ns string) []string {
				through(t, spans, head(ns, "web", image, 2))
				ready(t, ns, "web")
				lines := carry(annotation(ns, "web", "context"), annotation(ns, "web", "tracestate"))
				bench.MustKubectl(t, "", "-n", ns, "delete", "head/web", "--cascade=foreground")
				return lines
			},
			want: strings.ReplaceAll(below("(annotation)"), "web-A", "web-B"),
		},
		"cloned": {
			reason: "a context that was made for another object is replaced, and linked",
			linked: true,
			more: func(t *testing.T, ns string) []string {
				through(t, spans, head(ns, "other", image, 1))
				ready(t, ns, "other")
				return carry(annotation(ns, "other", "context"), annotation(ns, "other", "tracestate"))
			},
			want: below("(annotation)"),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			more := tt.more(t, ns)
			o := bench.Oracle(t, ns)
			r := through(t, spans, head(ns, "web", image, 2, more...))
			ready(t, ns, "web")
			o.Expect(t, r, tt.want)
			given := strings.TrimSpace(strings.TrimPrefix(more[1], "    trace.kubernetes.io/context:"))
			if got := annotation(ns, "web", "context") == given; got != tt.kept {
				t.Errorf("%s: kept is %v", tt.reason, got)
			}
			admission := spans.Await(t, 1, func(s *harness.Span) bool {
				return s.Name == "admission Head" && s.Object() == "web" && s.Trace == r.Traces[0].ID
			})
			if got := slices.ContainsFunc(
				admission[0].Links,
				func(l harness.Link) bool { return l.Why == "stale" },
			); got != tt.linked {
				t.Errorf("%s: admission links are %v", tt.reason, admission[0].Links)
			}
		})
	}
}
