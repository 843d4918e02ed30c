// SPDX-License-Identifier: Apache-2.0

package received

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// from returns a span of a component.
func from(
	service string,
	kind trace.SpanKind,
	id byte,
	parent byte,
	name string,
	attrs ...attribute.KeyValue,
) *span.Span {
	s := &span.Span{
		TraceID: trace.TraceID{1}, ID: trace.SpanID{id}, Name: name, Service: service, Attributes: attrs,
		Origin: &span.Origin{Kind: kind, Resource: &span.Resource{}},
	}
	if parent != 0 {
		s.Parent = trace.SpanID{parent}
	}
	return s
}

func requested(audit, name string, code int) *span.Span {
	return from(APIServer, trace.SpanKindServer, 1, 0, name, keyAuditID.String(audit), keyStatus.Int(code))
}

func audited(id string, change func(*observation.Write)) *observation.Observation {
	w := &observation.Write{Verb: "update", AuditID: id, Code: 200, End: epoch.Add(-2 * time.Second)}
	if change != nil {
		change(w)
	}
	return &observation.Observation{Seen: epoch, Source: observation.SourceAudit, Write: w}
}

func pod(change func(*observation.State)) *observation.Observation {
	s := &observation.State{
		Ref: object.Ref{Kind: object.Kind{Kind: "Pod"}, UID: "uid-1"},
		Pod: &observation.Pod{Node: "n1"},
	}
	if change != nil {
		change(s)
	}
	return &observation.Observation{Seen: epoch, Source: observation.SourceWatch, State: s}
}

func TestCoverage(t *testing.T) {
	const deployments = "/apis/apps/v1/namespaces/{:namespace}/deployments"
	first := []attribute.KeyValue{keyPodUID.String("uid-1"), keyUpdateType.String("create")}
	for name, tc := range map[string]struct {
		reason string
		spans  []*span.Span
		seen   []*observation.Observation
		want   Coverage
	}{
		"Write": {
			"by audit-id", []*span.Span{requested("a", "PUT "+deployments+"/{:name}", 200)},
			[]*observation.Observation{audited("a", nil), audited("b", nil)},
			Coverage{Writes: Rate{2, 1}, Changes: Rate{0, 1}},
		},
		"Read": {
			"a client may choose the ID of a read", []*span.Span{requested("a", "GET "+deployments, 200)},
			[]*observation.Observation{audited("a", nil)}, Coverage{Writes: Rate{1, 0}},
		},
		"Changes": {
			"versions from watches, compared with granted writes", []*span.Span{
				requested("a", "POST "+deployments, 201), requested("b", "POST "+deployments, 409),
				requested("c", "PUT /apis/coordination.k8s.io/v1/namespaces/{:namespace}/leases/{:name}", 200),
				requested("d", "POST /apis/authorization.k8s.io/v1/subjectaccessreviews", 201),
				requested("e", "POST /api/v1/namespaces/{:namespace}/events", 201),
				requested("f", "DELETE "+deployments, 200),
			},
			[]*observation.Observation{
				pod(func(s *observation.State) { s.Pod = nil }),
				{Source: observation.SourceWatch, Gone: &observation.Gone{}},
				{Source: observation.SourceWatch, Listed: true, State: &observation.State{}},
				{Source: observation.SourceRequest, State: &observation.State{}},
			},
			Coverage{Changes: Rate{1, 1}},
		},
		"Deletion": {
			"one request may delete many objects, and one object may need two requests",
			[]*span.Span{requested("a", "DELETE "+deployments, 200)},
			[]*observation.Observation{
				pod(func(s *observation.State) { s.Deleting = epoch }),
				{Source: observation.SourceWatch, Gone: &observation.Gone{}},
				{Source: observation.SourceWatch, Gone: &observation.Gone{}},
			},
			Coverage{},
		},
		"Pod": {
			"the Pod is bound and synced, and its sandbox created", []*span.Span{
				from(Kubelet, trace.SpanKindInternal, 1, 0, "syncPod", first...),
				from(Containerd, trace.SpanKindInternal, 2, 1, "cri.sandbox.run",
					keySandboxName.String("web_shop_uid-1_0")),
			},
			[]*observation.Observation{pod(nil)},
			Coverage{Changes: Rate{1, 0}, Pods: Rate{1, 1}, Sandboxes: Rate{1, 1}},
		},
		"PodLaterSync": {
			"only the first sync of a Pod counts",
			[]*span.Span{from(Kubelet, trace.SpanKindInternal, 1, 0, "syncPod",
				keyPodUID.String("uid-1"), keyUpdateType.String("sync"))},
			[]*observation.Observation{pod(nil)},
			Coverage{Changes: Rate{1, 0}, Pods: Rate{1, 0}, Sandboxes: Rate{1, 0}},
		},
		"PodUnderWay": {
			"the first sync may have been before our start", nil,
			[]*observation.Observation{pod(func(s *observation.State) { s.Pod.Started = epoch })},
			Coverage{Changes: Rate{1, 0}},
		},
		"PodOfNode": {
			"a mirror Pod and its static Pod have different UIDs", nil,
			[]*observation.Observation{pod(func(s *observation.State) {
				s.Owners = []object.Owner{{Kind: object.Kind{Kind: "Node"}}}
			})},
			Coverage{Changes: Rate{1, 0}},
		},
		"Etcd": {
			"the API server's calls count, watches do not", []*span.Span{
				from(APIServer, trace.SpanKindClient, 1, 9, "etcdserverpb.KV/Txn"),
				from(APIServer, trace.SpanKindClient, 2, 9, "etcdserverpb.KV/Range"),
				from(Etcd, trace.SpanKindServer, 3, 1, "etcdserverpb.KV/Txn"),
				from(Etcd, trace.SpanKindServer, 4, 0, "etcdserverpb.Watch/Watch"),
			},
			nil, Coverage{Transactions: Rate{2, 1}},
		},
		"Runtime": {
			"a runtime may have any name", []*span.Span{
				from(Kubelet, trace.SpanKindClient, 1, 9, "runtime.v1.RuntimeService/RunPodSandbox"),
				from(Kubelet, trace.SpanKindClient, 2, 9, "runtime.v1.ImageService/PullImage"),
				from("crio", trace.SpanKindServer, 3, 1, "runtime.v1.RuntimeService/RunPodSandbox"),
			},
			nil, Coverage{Calls: Rate{2, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for order, observeFirst := range map[string]bool{"spans first": false, "spans last": true} {
				tally := New(epoch)
				observe := func() {
					for _, o := range tc.seen {
						tally.Observe(o, epoch)
					}
				}
				if observeFirst {
					observe()
				}
				tally.Spans(tc.spans, epoch)
				if !observeFirst {
					observe()
				}
				if diff := cmp.Diff(tc.want, tally.Summary(epoch.Add(latePod)).Coverage); diff != "" {
					t.Errorf("%s, %s: -want +got:\n%s", tc.reason, order, diff)
				}
			}
		})
	}
}

func TestComponents(t *testing.T) {
	tally := New(epoch)
	onHost := func(name, host string) *span.Span {
		s := from(name, trace.SpanKindInternal, 1, 0, "work")
		s.Origin.Resource.Attributes = []attribute.KeyValue{keyHost.String(host)}
		return s
	}
	own := from("lifeline", trace.SpanKindInternal, 1, 0, "reconcile")
	own.Origin.Scope.Name = span.ScopeName
	tally.Spans(
		[]*span.Span{onHost(Kubelet, "n2"), onHost(Kubelet, "n1"), onHost(Kubelet, "n1"), onHost(Etcd, ""), own},
		epoch,
	)
	moved := onHost(Kubelet, "n1")
	moved.Attributes = append(moved.Attributes, span.KeyCorrection.Float64(-3))
	tally.Joined([]*span.Trace{{Spans: []*span.Span{{}, moved, onHost(Kubelet, "n1")}}}, epoch)
	got := tally.Summary(epoch.Add(time.Minute)).Components
	want := []Component{
		{Name: Etcd, Spans: 1, All: 1, Last: epoch},
		{
			Name:       Kubelet,
			Spans:      3,
			All:        3,
			Last:       epoch,
			Joined:     2,
			Corrected:  1,
			Correction: -3,
			Hosts:      []Host{{"n1", epoch}, {"n2", epoch}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	later := tally.Summary(epoch.Add(Window + time.Minute))
	if c := later.Component(Kubelet); c.Spans != 0 || c.All != 3 || len(c.Hosts) != 0 {
		t.Errorf("after the window: %+v, want no spans and hosts in it, and 3 in all", c)
	}
}

// TestBounds: senders choose names and their number, but the number of stored names is bounded.
func TestBounds(t *testing.T) {
	tally := New(epoch)
	for i := range 5000 {
		s := from(fmt.Sprintf("service-%d", i), trace.SpanKindInternal, 1, 0, "work")
		kubelet := from(Kubelet, trace.SpanKindInternal, 1, 0, "work")
		kubelet.Origin.Resource.Attributes = []attribute.KeyValue{keyHost.String(fmt.Sprintf("host-%d", i))}
		tally.Spans([]*span.Span{s, kubelet}, epoch)
	}
	got := tally.Summary(epoch)
	if n := len(got.Components); n > maxComponents+2 {
		t.Errorf("%d components are stored", n)
	}
	if n := len(got.Component(Kubelet).Hosts); n != maxHosts {
		t.Errorf("%d hosts are stored, want %d", n, maxHosts)
	}
	var all int64
	for _, c := range got.Components {
		all += c.All
	}
	if all != 10_000 {
		t.Errorf("%d spans were counted, want all", all)
	}
}

func TestAudit(t *testing.T) {
	tally := New(epoch)
	for _, o := range []*observation.Observation{
		audited("a", func(w *observation.Write) { w.ResourceVersion = 7 }),
		audited("b", nil),
		audited("c", func(w *observation.Write) { w.Code = 409 }),
		audited("d", func(w *observation.Write) { w.Verb = "delete" }),
	} {
		tally.Observe(o, epoch)
	}
	want := Audit{Writes: 4, Refused: 1, Answers: Rate{2, 1}, Delay: 2, Last: epoch}
	if diff := cmp.Diff(want, tally.Summary(epoch).Audit); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNil(t *testing.T) {
	var tally *Tally
	tally.Spans([]*span.Span{requested("a", "PUT /x", 200)}, epoch)
	tally.Observe(audited("a", nil), epoch)
	tally.Joined(nil, epoch)
	if got := tally.Summary(epoch); len(got.Components) != 0 {
		t.Errorf("a nil Tally has counted %+v", got)
	}
}

func TestResourceOf(t *testing.T) {
	for route, want := range map[string]string{
		"/api/v1/namespaces/{:namespace}/pods/{:name}/binding":             "pods|binding",
		"/api/v1/namespaces/{:name}":                                       "namespaces|",
		"/api/v1/namespaces/{:name}/status":                                "namespaces|status",
		"/api/v1/nodes/{:name}/status":                                     "nodes|status",
		"/apis/apps/v1/namespaces/{:namespace}/deployments":                "deployments.apps|",
		"/apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status": "deployments.apps|status",
		"/apis/apps": "no",
		"/healthz":   "no",
		"":           "no",
	} {
		got := "no"
		if r, sub, ok := resourceOf(route); ok {
			got = r.String() + "|" + sub
		}
		if got != want {
			t.Errorf("%s: %s, want %s", route, got, want)
		}
	}
}

// BenchmarkSpans measures Spans with a batch as the API server sends it.
func BenchmarkSpans(b *testing.B) {
	tally := New(epoch)
	batch := make([]*span.Span, 0, 512)
	resource := &span.Resource{}
	for i := range 512 {
		s := requested(fmt.Sprint("audit-", i), "PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}", 200)
		if i%4 != 0 {
			s = from(APIServer, trace.SpanKindClient, byte(i), 1, "etcdserverpb.KV/Txn")
			s.TraceID[1] = byte(i >> 8)
		}
		s.Origin.Resource = resource
		batch = append(batch, s)
	}
	b.ReportAllocs()
	now := epoch
	for b.Loop() {
		now = now.Add(10 * time.Millisecond)
		tally.Spans(batch, now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/span")
}

// TestBacklog: spans that ended before the start of the server do not count, because their other
// half may be lost.
func TestBacklog(t *testing.T) {
	tally := New(epoch)
	for i, ended := range []time.Duration{-time.Second, time.Second} {
		s := from(APIServer, trace.SpanKindClient, byte(i+1), 9, "etcdserverpb.KV/Txn")
		s.End.Time = epoch.Add(ended)
		tally.Spans([]*span.Span{s}, epoch.Add(2*time.Second))
	}
	if got := tally.Summary(epoch.Add(time.Minute)).Coverage.Transactions; got != (Rate{Of: 1}) {
		t.Errorf("got %+v, want one call", got)
	}
}
