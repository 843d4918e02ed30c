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

// apply starts `lifeline run` with a kubectl apply of a manifest.
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

// exists waits until an object exists.
func exists(t *testing.T, ns, name string) {
	t.Helper()
	harness.Eventually(t, name+" to exist", func() bool {
		out, err := bench.RunKubectl(t.Context(), nil, "-n", ns, "get", name, "--ignore-not-found", "-o", "name")
		return err == nil && strings.TrimSpace(out) != ""
	})
}

// TestKilled: the operator is killed at several steps of its work, and restarted. The change is
// still one complete trace.
func TestKilled(t *testing.T) {
	for name, at := range map[string]string{
		"before the child": "head/web", "at the child": "childa/web", "at the Deployment": "deployment/web",
	} {
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

// TestSuperseded: a second change supersedes the first, which is still open, and links to it.
func TestSuperseded(t *testing.T) {
	harness.Slow(t)
	spans := collector(t)
	op := headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	ns := bench.Namespace(t)
	first := apply(t, spans, head(ns, "web", image, 1000)) // more Pods than the Nodes can run
	exists(t, ns, "deployment/web")
	second := harness.Parse(t, apply(t, spans, head(ns, "web", image, 1)).Wait(t))
	one := harness.Parse(t, first.Wait(t))
	ready(t, ns, "web")
	op.Stop(t)

	if got := one.Traces[0].Find("reconcile Head", "web")[0].Outcome(); got != "superseded" {
		t.Errorf("the first change has outcome %q, want superseded", got)
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

// TestHealing: after a child is deleted, the operator creates it again in a new trace, which names
// the deleted child. The operator's spans are in that trace.
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
		t.Fatalf("got %d traces, want one of the deletion and one of the healing", len(r.Traces))
	}
	names := harness.Names{}
	// The objects of the old child are deleted with it, or adopted by the new one: that is a race.
	if got := names.Outline(r.Traces[0]); !strings.Contains(got, "\n  reconcile ChildA web deleted (request)\n") {
		t.Errorf("the trace of the deletion has no deleted ChildA web:\n%s", got)
	}
	healed := r.Traces[1].Find("reconcile ChildA", "web")
	if len(healed) != 1 || healed[0].Attributes["lifeline.heals"] != "ChildA web" ||
		healed[0].Attributes["lifeline.evidence"] != "annotation" {
		t.Errorf("the trace of the healing does not heal ChildA web by annotation:\n%s", names.Outline(r.Traces[1]))
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
			t.Errorf("the root of the healing is %s with links %v, want head-controller reconcile with a link healing",
				root.Name, root.Links)
		}
	}
}

// TestConflicts: another writer causes conflicts all the time. The trace has the failed write, and
// in the end the converged change.
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
			// This fails before the object exists, and at the end of the storm.
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
	// A write of the Head's status may have a conflict, too.
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
		t.Errorf("the trace of the change is not converged, or has missing parents:\n%s",
			bench.NamesIn(t, ns).Outline(got))
	}
}

// client returns a client of the administrator without a limit of its rate.
func client(t *testing.T) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return dynamic.NewForConfigOrDie(config)
}

// TestForeignContext: a context that another writer puts into the annotation is only a hint (P4).
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
		linked bool // admission links to the replaced context
		want   string
	}{
		"broken": {
			reason: "a broken context counts as absent: admission sets another",
			more:   func(*testing.T, string) []string { return carry("00-zz-1", "") },
			want:   below("(annotation)"),
		},
		"forged": {
			reason: "it may be the context of a CI job: it stays, but observed facts take precedence",
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
			reason: "the context of a deleted object with the same name is replaced, and linked",
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
			reason: "the context of another object is replaced, and linked",
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
				t.Errorf("%s: the context is kept: %t, want %t", tt.reason, got, tt.kept)
			}
			admission := spans.Await(t, 1, func(s *harness.Span) bool {
				return s.Name == "admission Head" && s.Object() == "web" && s.Trace == r.Traces[0].ID
			})
			if got := slices.ContainsFunc(
				admission[0].Links,
				func(l harness.Link) bool { return l.Why == "stale" },
			); got != tt.linked {
				t.Errorf("%s: admission has links %v, want a link stale: %t", tt.reason, admission[0].Links, tt.linked)
			}
		})
	}
}
