// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
)

// everything is the sampling rate per million for all traces.
const everything = 1_000_000

// head returns the manifest of a Head; more are further lines of its metadata.
func head(ns, name, image string, replicas int, more ...string) string {
	return fmt.Sprintf(`apiVersion: demo.lifeline.dev/v1alpha1
kind: Head
metadata:
  name: %s
  namespace: %s
%sspec: {image: %q, replicas: %d}
`, name, ns, strings.Join(append(more, ""), "\n"), image, replicas)
}

const image = "registry.example/web:1"

// collector returns a receiver for the spans of the operator and of lifeline in one test.
func collector(t *testing.T) *harness.Collector {
	t.Helper()
	c, err := harness.NewCollector()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// through applies a manifest with `lifeline run`, which sends its spans to the collector.
func through(t *testing.T, c *harness.Collector, manifest string) harness.Result {
	t.Helper()
	return bench.Run(
		t,
		0,
		[]string{"--otlp", "grpc://" + c.Endpoint},
		"kubectl",
		"apply",
		"-f",
		harness.File(t, manifest),
	)
}

// traces returns the received traces of a namespace, that of `lifeline run` first. The collector
// also has those of other namespaces, because the operator works in all of them.
func traces(c *harness.Collector, ns string) []*harness.Trace {
	return slices.DeleteFunc(
		harness.Group(c.Spans(func(*harness.Span) bool { return true })),
		func(tr *harness.Trace) bool {
			return !slices.ContainsFunc(
				tr.Spans,
				func(s *harness.Span) bool { return s.Attributes["k8s.namespace.name"] == ns },
			)
		},
	)
}

// whole reports each span with a missing parent, and each with the ID of another span.
func whole(t *testing.T, trs []*harness.Trace) {
	t.Helper()
	for _, tr := range trs {
		seen := map[string]*harness.Span{}
		for _, s := range tr.Spans {
			if o := seen[s.ID]; o != nil {
				t.Errorf(
					"trace %s: %s %s has the ID of %s %s:\n%s",
					tr.ID,
					s.Name,
					s.Object(),
					o.Name,
					o.Object(),
					harness.Names{}.Outline(tr),
				)
			}
			seen[s.ID] = s
		}
		for _, s := range tr.Orphans() {
			t.Errorf(
				"trace %s: the parent %s of %s %s is missing:\n%s",
				tr.ID,
				s.Parent,
				s.Name,
				s.Object(),
				harness.Names{}.Outline(tr),
			)
		}
	}
}

// has reports each name without a span in the trace.
func has(t *testing.T, tr *harness.Trace, names ...string) {
	t.Helper()
	for _, name := range names {
		if len(tr.Find(name, "")) == 0 {
			t.Errorf("trace %s has no span %q:\n%s", tr.ID, name, harness.Names{}.Outline(tr))
		}
	}
}

// ready waits until a Head has the condition Ready for its current generation.
func ready(t *testing.T, ns, name string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", ns, "wait", "head/"+name, "--for=condition=Ready", "--timeout=4m")
}

// below returns the outline of the creation of a Head with two Pods. evidence is that of the
// operator's edges, and of the ReplicaSet: the Deployment controller copies annotations to it.
func below(evidence string) string {
	return strings.ReplaceAll(`
run converged
  reconcile Head web converged (request)
    condition web
    create Head web (request)
    reconcile ChildA web converged EVIDENCE
      condition web
      reconcile Deployment web converged EVIDENCE
        reconcile ReplicaSet web-A converged EVIDENCE
          reconcile Pod web-A-* converged (owner) ×2
            [pull image, readiness, sandbox, schedule, start container]
`, "EVIDENCE", evidence)
}

// TestOneTrace: the apply of a Head with `lifeline run` is one trace of the client, both
// controllers and all objects below. The operator's spans are in it, including admission.
func TestOneTrace(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		want   string
		own    []string // spans of the operator in the command's trace
		linked []string // spans of the operator in traces with links to it
	}{
		"parents": {
			reason: "the default: one trace from the change to its last effect",
			want:   below("(annotation)"),
			own: []string{
				"admission Head",
				"head-controller reconcile",
				"queue wait",
				"create ChildA",
				"childa-controller reconcile",
				"create Deployment",
				"update ChildA/status",
				"update Head/status",
			},
		},
		"links": {
			reason: "each reconcile is a separate trace; the lifecycle is still one",
			args:   []string{"--trace-links"},
			want:   below("(annotation) ~annotation"),
			own:    []string{"admission Head"},
			linked: []string{
				"head-controller reconcile",
				"create ChildA",
				"childa-controller reconcile",
				"create Deployment",
			},
		},
		"without the kit": {
			reason: "without annotations, ownerReferences are the evidence",
			args:   []string{"--without-kit"},
			want:   below("(owner)"),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spans := collector(t)
			op := headoperator.Start(
				t,
				bench,
				headoperator.Options{Endpoint: spans.Endpoint, Rate: everything, Args: tt.args},
			)
			ns := bench.Namespace(t)
			o := bench.Oracle(t, ns)
			r := through(t, spans, head(ns, "web", image, 2))
			ready(t, ns, "web")
			o.Expect(t, r, tt.want)
			op.Stop(t)

			all := traces(spans, ns)
			whole(t, all)
			if all[0].ID != r.Traces[0].ID {
				t.Fatalf("the first trace is %s, that of the command is %s", all[0].ID, r.Traces[0].ID)
			}
			has(t, all[0], tt.own...)
			if len(tt.linked) == 0 && len(all) != 1 {
				t.Errorf("%s: got %d traces, want one", tt.reason, len(all))
			}
			linked(t, all, tt.linked)
		})
	}
}

// linked reports each name without a span in a trace that links to the first, directly or over
// other traces.
func linked(t *testing.T, all []*harness.Trace, names []string) {
	t.Helper()
	reached := map[string]bool{all[0].ID: true}
	for range all {
		for _, tr := range all {
			for _, s := range tr.Spans {
				for _, l := range s.Links {
					reached[tr.ID] = reached[tr.ID] || reached[l.Trace]
				}
			}
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(
			all[1:],
			func(tr *harness.Trace) bool { return reached[tr.ID] && len(tr.Find(name, "")) > 0 },
		) {
			t.Errorf("no trace with links to the command's trace has a span %q", name)
		}
	}
}

// TestContextOnChild: an object's annotation has the span context of the write that created it.
func TestContextOnChild(t *testing.T) {
	spans := collector(t)
	headoperator.Start(t, bench, headoperator.Options{Endpoint: spans.Endpoint, Rate: everything})
	ns := bench.Namespace(t)
	through(t, spans, head(ns, "web", image, 1))
	for name, write := range map[string]string{
		"head/web": "admission Head", "childa/web": "create ChildA", "deployment/web": "create Deployment",
	} {
		carried := bench.MustKubectl(
			t,
			"",
			"-n",
			ns,
			"get",
			name,
			"-o",
			`jsonpath={.metadata.annotations.trace\.kubernetes\.io/context}`,
		)
		// The operator also works in the terminating namespaces of other tests.
		got := spans.Await(t, 1, func(s *harness.Span) bool {
			return s.Name == write && s.Attributes["k8s.namespace.name"] == ns
		})
		if want := "00-" + got[0].Trace + "-" + got[0].ID + "-01"; carried != want {
			t.Errorf("%s has context %s, want that of %s: %s", name, carried, write, want)
		}
	}
}

// TestAlone: without `lifeline run`, the operator's spans are one tree.
func TestAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		reason    string
		noWebhook bool
		args      []string
		root      string
		traces    int
	}{
		"with the webhook": {reason: "admission starts the trace", root: "admission Head", traces: 1},
		"without the webhook": {
			reason:    "the first reconcile with a write starts the trace",
			noWebhook: true, root: "head-controller reconcile", traces: 1,
		},
		"in link mode": {
			reason: "admission and each controller's work are separate traces",
			args:   []string{"--trace-links"}, root: "admission Head", traces: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans := collector(t)
			op := headoperator.Start(t, bench, headoperator.Options{
				Endpoint:  spans.Endpoint,
				Rate:      everything,
				NoWebhook: tt.noWebhook,
				Args:      tt.args,
			})
			ns := bench.Namespace(t)
			bench.MustKubectl(t, head(ns, "web", image, 2), "apply", "-f", "-")
			ready(t, ns, "web")
			op.Stop(t)
			all := traces(spans, ns)
			whole(t, all)
			if len(all) != tt.traces {
				var text strings.Builder
				for _, tr := range all {
					text.WriteString(tr.ID + "\n" + harness.Names{}.Outline(tr))
				}
				t.Errorf("%s: got %d traces, want %d:\n%s", tt.reason, len(all), tt.traces, &text)
			}
			for _, tr := range all {
				if roots := tr.Roots(); len(roots) > 0 && len(tr.Find(tt.root, "")) > 0 && roots[0].Name != tt.root {
					t.Errorf("%s: the root is %s, want %s", tt.reason, roots[0].Name, tt.root)
				}
			}
		})
	}
}
