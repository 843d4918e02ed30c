// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

const (
	postDeployments = "POST /apis/apps/v1/namespaces/{:namespace}/deployments"
	patchPod        = "PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status"
	runPodSandbox   = "runtime.v1.RuntimeService/RunPodSandbox"
	pullImage       = "runtime.v1.ImageService/PullImage"
	createContainer = "runtime.v1.RuntimeService/CreateContainer"
	startContainer  = "runtime.v1.RuntimeService/StartContainer"
	stopPodSandbox  = "runtime.v1.RuntimeService/StopPodSandbox"
)

func sync(f *foreign, id by, name, update, pod string, start, end float64) *span.Span {
	return f.add("kubelet@node-1", "i", name, id, 0, start, end,
		attribute.String("k8s.pod.uid", string(uid(pod))), attribute.String("k8s.pod.update_type", update))
}

func sandboxName(pod string) attribute.KeyValue {
	return attribute.String("sandbox.name", pod+"_default_"+string(uid(pod))+"_0")
}

// TestRules joins spans to the creation of a Deployment with one Pod. It compares the joined spans
// and their parents.
func TestRules(t *testing.T) {
	const pod, write = "reconcile Pod", "create Deployment"
	cases := map[string]struct {
		reason string
		ours   func(s story, deployment, pod *span.Span)
		spans  func(f *foreign, s story)
		// want lists each foreign span with its ancestors, from the top.
		want []string
	}{
		"audit-id": {
			reason: "X1: the request's span is the server's side of the write, and what is below it follows",
			spans:  func(f *foreign, _ story) { f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4) },
			want: []string{
				write + " > " + postDeployments + " (request)", postDeployments + " > authorization",
				"authorization > etcdserverpb.KV/Txn", "etcdserverpb.KV/Txn > etcdserverpb.KV/Txn",
			},
		},
		"audit-id on an event": {
			reason: "where our write is but a moment, the request hangs below the reconciliation",
			ours: func(_ story, _, pod *span.Span) {
				pod.Events = append(pod.Events, span.Event{
					Time: at(50), Name: span.EventWrite, Attributes: []attribute.KeyValue{
						span.KeyAuditID.String("audit-status"),
					},
				})
			},
			spans: func(f *foreign, _ story) {
				f.add("apiserver@cp", "s", patchPod, by{1, 1}, 0, 49, 51, attribute.String("audit-id", "audit-status"))
			},
			want: []string{pod + " > " + patchPod + " (request)"},
		},
		"audit-id twice": {
			reason: "X1: a client may choose it; two requests, and none is known to be the write",
			spans: func(f *foreign, _ story) {
				f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
				f.request(by{2, 1}, postDeployments, "audit-deployment", 2, 4)
			},
		},
		"audit-id handed on": {
			reason: "an API server that hands a request on to another hands on the ID: the outer request is the write",
			spans: func(f *foreign, _ story) {
				f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
				f.add("extension@cp", "s", "POST inner", by{1, 9}, 2, 2, 3,
					attribute.String("audit-id", "audit-deployment"))
			},
			want: []string{
				write + " > " + postDeployments + " (request)", postDeployments + " > authorization",
				"authorization > etcdserverpb.KV/Txn", "etcdserverpb.KV/Txn > etcdserverpb.KV/Txn",
				"authorization > POST inner",
			},
		},
		"audit-id of two of our traces": {
			reason: "neither is known to be the one that the request made",
			ours:   func(s story, d, _ *span.Span) { s.Spans[1].Attributes = nil },
			spans:  func(f *foreign, _ story) { f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4) },
		},
		"a span above the request": {
			reason: "what the API server did before it knew the request is part of it, and keeps its place",
			spans: func(f *foreign, _ story) {
				f.add("apiserver@cp", "i", "authentication", by{1, 9}, 0, 0.5, 4)
				f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4).Parent = by{1, 9}.spanID()
			},
			want: []string{
				write + " > authentication (request)", "authentication > " + postDeployments,
				postDeployments + " > authorization",
				"authorization > etcdserverpb.KV/Txn", "etcdserverpb.KV/Txn > etcdserverpb.KV/Txn",
			},
		},
		"the caller by link": {
			reason: "an untrusted caller's span is what the request's only link leads to",
			spans: func(f *foreign, _ story) {
				f.add("kubelet@node-1", "c", "HTTP PATCH", by{2, 1}, 0, 24, 28)
				f.add("apiserver@cp", "s", patchPod, by{1, 1}, 0, 25, 27,
					attribute.String("audit-id", "audit-web-1")).Links =
					[]span.Link{link(by{2, 1}.traceID(), by{2, 1}.spanID())}
			},
			want: []string{"create Pod > HTTP PATCH (request)", "HTTP PATCH > " + patchPod + " (request)"},
		},
		"the caller's own work": {
			reason: "the call is known to be the write's; the work that called is not known to be for this " +
				"object alone",
			spans: func(f *foreign, _ story) {
				f.add("tool@ci", "i", "deploy everything", by{1, 1}, 0, 0, 6)
				f.add("tool@ci", "c", "HTTP POST", by{1, 2}, 1, 1, 5)
				f.add("apiserver@cp", "s", postDeployments, by{1, 3}, 2, 2, 4,
					attribute.String("audit-id", "audit-deployment"))
			},
			want: []string{write + " > HTTP POST (request)", "HTTP POST > " + postDeployments},
		},
		"parent": {
			reason: "a trusted caller's context is the parent",
			spans: func(f *foreign, s story) {
				r := f.add("apiserver@cp", "s", postDeployments, by{1, 1}, 0, 1, 4)
				r.TraceID, r.Parent = s.ID, s.Spans[1].ID
			},
			want: []string{write + " > " + postDeployments + " (request)"},
		},
		"link": {
			reason: "an untrusted caller's is a link",
			spans: func(f *foreign, s story) {
				f.add("apiserver@cp", "s", postDeployments, by{1, 1}, 0, 1, 4).Links = []span.Link{
					link(s.ID, s.Spans[1].ID),
				}
			},
			want: []string{write + " > " + postDeployments + " (request)"},
		},
		"a link that is no cause": {
			reason: "an operator links to contexts that were not its cause",
			spans: func(f *foreign, s story) {
				l := link(s.ID, s.Spans[0].ID)
				l.Reason = "stale"
				f.add("operator@node-1", "i", "head reconcile", by{1, 1}, 0, 1, 4).Links = []span.Link{l}
			},
		},
		"an operator under the object's context": {
			reason: "its spans nest below the reconciliation",
			spans: func(f *foreign, s story) {
				r := f.add("operator@node-1", "i", "head reconcile", by{1, 1}, 0, 10, 14)
				r.TraceID, r.Parent = s.ID, s.Spans[0].ID
				c := f.add("operator@node-1", "c", "create Service", by{1, 2}, 1, 11, 13)
				c.TraceID = s.ID
			},
			want: []string{"reconcile Deployment > head reconcile (annotation)", "head reconcile > create Service"},
		},
		"an operator that links": {
			reason: "in link mode the operator kit says which link is the object's context",
			spans: func(f *foreign, s story) {
				l := link(s.ID, s.Spans[0].ID)
				l.Reason = "object"
				f.add("operator@node-1", "i", "head reconcile", by{1, 1}, 0, 10, 14).Links = []span.Link{l}
			},
			want: []string{"reconcile Deployment > head reconcile (annotation)"},
		},
		"a parent that never comes": {
			reason: "it was made under the trace's ID: below the root, the parent it named stays in its origin",
			spans: func(f *foreign, s story) {
				f.add("operator@node-1", "i", "head reconcile", by{1, 1}, 9, 10, 14).TraceID = s.ID
			},
			want: []string{"reconcile Deployment > head reconcile (annotation)"},
		},
		"syncPod": {
			reason: "X1: joined by the Pod's UID; the calls below it follow, and the runtime's own spans",
			spans: func(f *foreign, _ story) {
				sync(f, by{1, 1}, "syncPod", "create", "web-1", 50, 3000)
				f.add("kubelet@node-1", "c", runPodSandbox, by{1, 2}, 1, 60, 900)
				f.add("containerd", "s", runPodSandbox, by{1, 3}, 2, 61, 899)
			},
			want: []string{
				pod + " > syncPod (identity)", "syncPod > " + runPodSandbox, runPodSandbox + " > " + runPodSandbox,
			},
		},
		"syncPod of another Pod": {
			reason: "the same name, another UID",
			spans: func(f *foreign, _ story) {
				sync(f, by{1, 1}, "syncPod", "create", "web-1 of yesterday", 50, 3000)
			},
		},
		"syncPod afterwards": {
			reason: "a kubelet looks at its Pods for as long as they run",
			spans:  func(f *foreign, _ story) { sync(f, by{1, 1}, "syncPod", "sync", "web-1", 60_000, 60_001) },
		},
		"syncTerminatingPod": {
			reason: "it belongs to the Pod's deletion, not to what else was open",
			ours: func(s story, d, _ *span.Span) {
				gone := s.add(d, "reconcile Pod", ref("", "Pod", "web-1"), 3500, 3900)
				gone.Outcome = span.Deleted
				gone.Name = "reconcile Pod"
				s.add(gone, "terminate", gone.Object, 3500, 3900)
			},
			spans: func(f *foreign, _ story) { sync(f, by{1, 1}, "syncTerminatingPod", "kill", "web-1", 3600, 3800) },
			want:  []string{pod + " > syncTerminatingPod (identity)"},
		},
		"a runtime alone": {
			reason: "without a kubelet's span, the sandbox's name has the Pod's UID, and its ID is known from then on",
			spans: func(f *foreign, _ story) {
				f.add("containerd", "s", startContainer, by{2, 1}, 0, 2600, 2700,
					attribute.String("container.id", "c1"), attribute.String("sandbox.id", "s1"))
				f.add("containerd", "s", runPodSandbox, by{1, 1}, 0, 60, 900, attribute.String("sandbox.id", "s1"),
					sandboxName("web-1"))
			},
			want: []string{pod + " > " + runPodSandbox + " (identity)", pod + " > " + startContainer + " (identity)"},
		},
		"an ID that two Pods have": {
			reason: "it is nobody's",
			spans: func(f *foreign, _ story) {
				f.add("containerd", "s", startContainer, by{2, 1}, 0, 2600, 2700,
					attribute.String("container.id", "c1"))
				f.add("containerd", "s", "runtime.v1.RuntimeService/X", by{3, 1}, 0, 1, 2,
					attribute.String("container.id", "c1"), sandboxName("web-2"))
				f.add("containerd", "s", createContainer, by{1, 1}, 0, 2500, 2590,
					attribute.String("container.id", "c1"), sandboxName("web-1"))
			},
			want: []string{pod + " > " + createContainer + " (identity)"},
		},
		"garbage collection": {
			reason: "it removes containers of many Pods: it stays one trace",
			spans: func(f *foreign, _ story) {
				f.add("containerd", "s", createContainer, by{1, 1}, 0, 2500, 2590,
					attribute.String("container.id", "c1"), sandboxName("web-1"))
				f.add("kubelet@node-1", "i", "Containers/GarbageCollect", by{2, 1}, 0, 2600, 2700)
				f.add("kubelet@node-1", "c", "runtime.v1.RuntimeService/RemoveContainer", by{2, 2}, 1, 2600, 2700)
				f.add("containerd", "s", "runtime.v1.RuntimeService/RemoveContainer", by{2, 3}, 2, 2600, 2700,
					attribute.String("container.id", "c1"))
			},
			want: []string{pod + " > " + createContainer + " (identity)"},
		},
		"nothing in common": {
			reason: "at the same time, on the same node: never by time",
			spans: func(f *foreign, _ story) {
				f.request(by{1, 1}, postDeployments, "audit-other", 1, 4)
				sync(f, by{2, 1}, "syncPod", "create", "other", 50, 3000)
				f.add("operator@node-1", "i", "head reconcile", by{3, 1}, 0, 10, 14)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			ours, d, p := web()
			traces := []*span.Trace{ours.Trace}
			if name == "audit-id of two of our traces" {
				other := newStory("other")
				other.write(other.add(nil, "reconcile Deployment", ref("apps", "Deployment", "other"), 0, 10), "create",
					"audit-deployment", 0, 5)
				traces = append(traces, other.Trace)
			} else if tc.ours != nil {
				tc.ours(ours, d, p)
			}
			var f foreign
			tc.spans(&f, ours)
			var got []string
			for i, joined := range join(stitch.Options{}, &f, traces...) {
				got = append(got, edgesOf(joined)...)
				check(t, traces[i], joined)
			}
			if diff := cmp.Diff(sorted(tc.want), sorted(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// edgesOf returns the foreign spans in a trace, each after its ancestors.
func edgesOf(t *span.Trace) []string {
	names := map[trace.SpanID]string{}
	for _, s := range t.Spans {
		names[s.ID] = s.Name
	}
	var out []string
	for _, s := range t.Spans {
		if s.Origin == nil {
			continue
		}
		edge := names[s.Parent] + " > " + s.Name
		if s.Evidence != "" {
			edge += " (" + string(s.Evidence) + ")"
		}
		out = append(out, edge)
	}
	return out
}

func sorted(list []string) string {
	list = append([]string(nil), list...)
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			if list[j] < list[i] {
				list[i], list[j] = list[j], list[i]
			}
		}
	}
	return strings.Join(list, "\n")
}

// check checks the invariants of a joined trace: all of our spans, one trace ID, no orphan, no
// repeated ID.
func check(t *testing.T, ours, joined *span.Trace) {
	t.Helper()
	known := map[trace.SpanID]bool{}
	for _, s := range joined.Spans {
		if s.TraceID != ours.ID {
			t.Errorf("%s is of trace %s", s.Name, s.TraceID)
		}
		if known[s.ID] {
			t.Errorf("%s has the ID %s of another", s.Name, s.ID)
		}
		known[s.ID] = true
	}
	for _, s := range ours.Spans {
		if !known[s.ID] {
			t.Errorf("ours has gone: %s", s.Name)
		}
	}
	for _, s := range joined.Spans {
		if s.Parent.IsValid() && !s.RemoteParent && !known[s.Parent] {
			t.Errorf("%s is an orphan", s.Name)
		}
	}
	if r, want := joined.Root(), ours.Root(); (r == nil) != (want == nil) || r != nil && r.ID != want.ID {
		t.Errorf("the root is %v, want %v", r, want)
	}
}

func TestOutsideParent(t *testing.T) {
	ours, d, _ := web()
	d.Parent, d.RemoteParent = by{1, 2}.spanID(), true
	for _, s := range ours.Spans {
		s.TraceID = by{1, 1}.traceID()
	}
	ours.ID = by{1, 1}.traceID()
	var f foreign
	f.add("ci@runner", "i", "pipeline", by{1, 1}, 0, -100, 5000)
	f.add("ci@runner", "i", "deploy", by{1, 2}, 1, -50, 4500)
	got := join(stitch.Options{}, &f, ours.Trace)[0]
	check(t, ours.Trace, got)
	if !strings.HasPrefix(outline(got), "pipeline [ci] (annotation)\n  deploy [ci]\n    reconcile Deployment\n") {
		t.Errorf("the context that the change came with leads to what made it:\n%s", outline(got))
	}
	if !d.RemoteParent {
		t.Error("the trace given was changed")
	}
}

// TestOwnWebhook: an operator's webhook sets an object's context during the create request, in that
// request's trace.
func TestOwnWebhook(t *testing.T) {
	ours, d, _ := web()
	ours.ID = by{1, 1}.traceID()
	for _, s := range ours.Spans {
		s.TraceID = ours.ID
	}
	d.Parent, d.RemoteParent = by{1, 6}.spanID(), true
	// The earliest descendant has a clock of whole seconds.
	ours.add(d, "condition", d.Object, -500, 4000)
	var f foreign
	f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
	f.add("apiserver", "c", "HTTP POST", by{1, 5}, 1, 2, 3)
	f.add("operator", "s", "admission Deployment", by{1, 6}, 5, 2, 3)
	f.add("operator", "i", "controller reconcile", by{1, 7}, 6, 10, 20)
	got := join(stitch.Options{}, &f, ours.Trace)[0]
	check(t, ours.Trace, got)
	roots := 0
	for _, s := range got.Spans {
		if !s.Parent.IsValid() || s.RemoteParent {
			roots++
		}
	}
	if roots != 1 || got.Spans[0].ID != d.ID {
		t.Errorf("there are %d roots, want the reconciliation:\n%s", roots, outline(got))
	}
	if !d.Parent.IsValid() || !d.RemoteParent {
		t.Error("the trace given was changed")
	}
}

func TestTwoPodsOfOneName(t *testing.T) {
	first, second := newStory("first"), newStory("second")
	for i, s := range []story{first, second} {
		p := s.add(nil, "reconcile Pod",
			object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default", Name: "db-0",
				UID: uid([]string{"a", "b"}[i])}, 0, 4000)
		p.Outcome = span.Converged
	}
	var f foreign
	sync(&f, by{1, 1}, "syncPod", "create", "a", 10, 100)
	sync(&f, by{2, 1}, "syncPod", "create", "b", 10, 100)
	for i, got := range join(stitch.Options{}, &f, first.Trace, second.Trace) {
		if s := find(t, got, "syncPod", true); s.Origin.TraceID != (by{byte(i + 1), 1}).traceID() ||
			len(got.Spans) != 2 {
			t.Errorf("trace %d has\n%s", i, outline(got))
		}
	}
}

func TestOneIDTwice(t *testing.T) {
	ours, _, pod := web()
	var f foreign
	for i := range 2 {
		sync(&f, by{byte(i + 1), 1}, "syncPod", "create", "web-1", 50, 60).ID = trace.SpanID{7}
	}
	sync(&f, by{3, 1}, "syncPod", "create", "web-1", 50, 60).ID = pod.ID
	f.add("kubelet@node-1", "c", runPodSandbox, by{3, 2}, 0, 51, 52).Parent = pod.ID
	got := join(stitch.Options{}, &f, ours.Trace)[0]
	check(t, ours.Trace, got)
	var kept, other int
	for _, s := range got.Spans {
		if s.Name != "syncPod" {
			continue
		}
		if was := attributeOf(s, span.KeyOriginSpan); was == "" {
			kept++
		} else {
			other++
		}
	}
	if kept != 1 || other != 2 {
		t.Errorf("%d kept their ID, %d have another", kept, other)
	}
}

func attributeOf(s *span.Span, k attribute.Key) string {
	for _, kv := range s.Attributes {
		if kv.Key == k {
			return kv.Value.String()
		}
	}
	return ""
}

func TestLinkMode(t *testing.T) {
	ours, _, _ := web()
	var f foreign
	f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
	s := stitch.New(stitch.Options{Mode: stitch.Link})
	s.Accept(f.list, now)
	got := s.Join(ours.Trace, true, now)
	if len(got.Spans) != len(ours.Spans) {
		t.Errorf("others' spans are in\n%s", outline(got))
	}
	links := find(t, got, "create Deployment", false).Links
	if len(links) != 1 || links[0].TraceID != (by{1, 1}).traceID() || links[0].SpanID != (by{1, 1}).spanID() {
		t.Errorf("links are %v", links)
	}
	passed := s.Expire(now)
	if len(passed) != 1 || len(passed[0].Spans) != 4 {
		t.Fatalf("passed: %v", passed)
	}
	for i, p := range passed[0].Spans {
		if p != f.list[i] {
			t.Errorf("%s was touched", p.Name)
		}
	}
}
