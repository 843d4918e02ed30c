// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// epoch is the start of every story; now is the time of the calls.
var (
	epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now   = epoch.Add(10 * time.Second)
)

func at(ms float64) time.Time { return epoch.Add(time.Duration(ms * float64(time.Millisecond))) }

// watched is a moment with a watch as its source.
func watched(ms float64) span.Time { return span.Time{Time: at(ms), Source: span.TimeWatch} }

// story builds one of our traces.
type story struct{ *span.Trace }

func newStory(name string) story {
	return story{&span.Trace{ID: span.DeriveTraceID(name), Outcome: span.Converged}}
}

func (s story) add(
	parent *span.Span, name string, ref object.Ref, start, end float64, attrs ...attribute.KeyValue,
) *span.Span {
	out := &span.Span{
		TraceID: s.ID, ID: span.DeriveID(s.ID, name, string(ref.UID), fmt.Sprint(len(s.Spans))), Name: name,
		Object: ref,
		Start:  watched(start), Attributes: attrs,
	}
	if end >= 0 {
		out.End = watched(end)
	}
	if parent != nil {
		out.Parent = parent.ID
	}
	s.Spans = append(s.Spans, out)
	return out
}

// write adds a write with an audited request.
func (s story) write(rec *span.Span, verb, audit string, start, end float64) *span.Span {
	w := s.add(rec, verb+" "+rec.Object.Kind.Kind, rec.Object, start, end, span.KeyAuditID.String(audit))
	w.Start.Source, w.End.Source = span.TimeRequest, span.TimeRequest
	return w
}

func ref(group, kind, name string) object.Ref {
	return object.Ref{
		Kind: object.Kind{Group: group, Version: "v1", Kind: kind}, Namespace: "default", Name: name, UID: uid(name),
	}
}

func uid(name string) types.UID {
	id := span.DeriveTraceID(name).String()
	return types.UID(id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:])
}

// web is a Deployment with one Pod, created in 4 s.
func web() (s story, deployment, pod *span.Span) {
	s = newStory("web")
	deployment = s.add(nil, "reconcile Deployment", ref("apps", "Deployment", "web"), 0, 4000)
	s.write(deployment, "create", "audit-deployment", 0, 5)
	pod = s.pod(deployment, "web-1", 20, 4000)
	return s, deployment, pod
}

// pod adds the creation of a Pod with its phases.
func (s story) pod(parent *span.Span, name string, start, end float64) *span.Span {
	pod := s.add(parent, "reconcile Pod", ref("", "Pod", name), start, end)
	s.write(pod, "create", "audit-"+name, start, start+5)
	image := []attribute.KeyValue{span.KeyContainer.String("web"), span.KeyImage.String("nginx:1.27")}
	s.add(pod, "schedule", pod.Object, start, start+20)
	s.add(pod, "sandbox", pod.Object, start+20, start+1000)
	s.add(pod, "pull image", pod.Object, start+1000, start+2500, image...)
	s.add(pod, "start container", pod.Object, start+2500, start+3500, image...)
	s.add(pod, "readiness", pod.Object, start+3500, end)
	return pod
}

// foreign builds spans of other components.
type foreign struct {
	list []*span.Span
	from map[string]*span.Resource
}

// by identifies a foreign span in a test: its trace and its number there.
type by struct{ trace, span byte }

func (b by) traceID() trace.TraceID { return trace.TraceID{0xf0, 15: b.trace} }
func (b by) spanID() trace.SpanID {
	if b.span == 0 {
		return trace.SpanID{}
	}
	return trace.SpanID{0xf0, b.trace, 7: b.span}
}

// add adds a span of a component; kind is s(erver), c(lient) or i(nternal).
func (f *foreign) add(
	service, kind, name string, id by, parent byte, start, end float64, attrs ...attribute.KeyValue,
) *span.Span {
	if f.from == nil {
		f.from = map[string]*span.Resource{}
	}
	if f.from[service] == nil {
		component, host, _ := strings.Cut(service, "@")
		r := &span.Resource{Attributes: []attribute.KeyValue{attribute.String("service.name", component)}}
		if host != "" {
			r.Attributes = append(r.Attributes, attribute.String("host.name", host))
		}
		f.from[service] = r
	}
	component, _, _ := strings.Cut(service, "@")
	out := &span.Span{
		TraceID: id.traceID(), ID: id.spanID(), Parent: by{id.trace, parent}.spanID(), Name: name, Service: component,
		Start: span.Time{Time: at(start)}, End: span.Time{Time: at(end)}, Attributes: attrs,
	}
	kinds := map[string]trace.SpanKind{
		"s": trace.SpanKindServer, "c": trace.SpanKindClient, "i": trace.SpanKindInternal,
	}
	out.Origin = &span.Origin{
		TraceID: out.TraceID, Parent: out.Parent, Kind: kinds[kind], Scope: span.Scope{Name: "test"},
		Resource: f.from[service],
	}
	f.list = append(f.list, out)
	return out
}

// request adds the server's span of a request to the API server, with children.
func (f *foreign) request(id by, name, audit string, start, end float64) *span.Span {
	out := f.add("apiserver@cp", "s", name, id, 0, start, end, attribute.String("audit-id", audit))
	f.add("apiserver@cp", "i", "authorization", by{id.trace, id.span + 1}, id.span, start+0.1, end-0.1)
	f.add("apiserver@cp", "c", "etcdserverpb.KV/Txn", by{id.trace, id.span + 2}, id.span+1, start+0.2, end-0.2)
	f.add("etcd@cp", "s", "etcdserverpb.KV/Txn", by{id.trace, id.span + 3}, id.span+2, start+0.3, end-0.3)
	return out
}

func link(to trace.TraceID, s trace.SpanID) span.Link { return span.Link{TraceID: to, SpanID: s} }

// outline renders the tree of a trace, one line per span, indented by depth. Foreign spans show
// their evidence.
func outline(t *span.Trace) string {
	depth := map[trace.SpanID]int{}
	var b strings.Builder
	for _, s := range t.Spans {
		d := 0
		if up, known := depth[s.Parent]; known {
			d = up + 1
		}
		depth[s.ID] = d
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", d), s.Name)
		if s.Origin != nil {
			fmt.Fprintf(&b, " [%s]", s.Service)
			if s.Evidence != "" {
				fmt.Fprintf(&b, " (%s)", s.Evidence)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// all returns a request and the work on a Pod, as the components emit them.
func all() []*span.Span {
	var f foreign
	f.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
	f.work(2, "web-1", 0)
	return f.list
}

// work adds a kubelet's work on a new Pod, with the clock offset off.
func (f *foreign) work(id byte, pod string, off float64) {
	kubelet, runtime := "kubelet@node-1", "containerd"
	sync(f, by{id, 1}, "syncPod", "create", pod, 50+off, 3400+off)
	for i, c := range []struct {
		name       string
		start, end float64
		attrs      []attribute.KeyValue
	}{
		{runPodSandbox, 100, 900, []attribute.KeyValue{attribute.String("sandbox.id", "s-"+pod), sandboxName(pod)}},
		{pullImage, 950, 2400, []attribute.KeyValue{attribute.String("image.ref", "docker.io/library/nginx:1.27")}},
		{
			createContainer, 2450, 2600, []attribute.KeyValue{
				attribute.String("container.id", "c-"+pod),
				attribute.String("container.name", "web_"+pod+"_default_"+string(uid(pod))+"_0"),
			},
		},
		{startContainer, 2650, 3300, []attribute.KeyValue{attribute.String("container.id", "c-"+pod)}},
	} {
		n := byte(2 + 2*i)
		f.add(kubelet, "c", c.name, by{id, n}, 1, c.start+off, c.end+off)
		f.add(runtime, "s", c.name, by{id, n + 1}, n, c.start+1+off, c.end-1+off, c.attrs...)
	}
}

// document renders a whole trace for comparison.
func document(t *span.Trace) string {
	var b strings.Builder
	for _, s := range t.Spans {
		fmt.Fprintf(&b, "%s %s %s %v %s %s %v %v %v %v %v\n", s.TraceID, s.ID, s.Parent, s.RemoteParent, s.Name,
			s.Evidence, s.Start, s.End, s.Attributes, s.Links, s.Origin != nil)
	}
	return b.String()
}

// find returns the first span with the name: a foreign one if of is true, otherwise one of ours.
func find(t testing.TB, tr *span.Trace, name string, of bool) *span.Span {
	t.Helper()
	for _, s := range tr.Spans {
		if s.Name == name && (s.Origin != nil) == of {
			return s
		}
	}
	t.Fatalf("there is no %s in\n%s", name, outline(tr))
	return nil
}

// join accepts all of f at once and joins it to traces.
func join(o stitch.Options, f *foreign, traces ...*span.Trace) []*span.Trace {
	s := stitch.New(o)
	s.Accept(f.list, now)
	var out []*span.Trace
	for _, t := range traces {
		s.Join(t, false, now)
	}
	for _, t := range traces {
		out = append(out, s.Join(t, false, now))
	}
	return out
}

// recording reads the spans of a file with one OTLP request per line.
func recording(t testing.TB, name string) [][]*span.Span {
	t.Helper()
	var out [][]*span.Span
	for i, line := range strings.Split(strings.TrimSpace(string(read(t, name))), "\n") {
		data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(line))
		if err != nil {
			t.Fatalf("line %d of %s: %v", i+1, name, err)
		}
		wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(data)
		if err != nil {
			t.Fatal(err)
		}
		var all tracepb.TracesData
		if err := proto.Unmarshal(wire, &all); err != nil {
			t.Fatal(err)
		}
		out = append(out, decode(t, all.GetResourceSpans()))
	}
	return out
}

func decode(t testing.TB, all []*tracepb.ResourceSpans) []*span.Span {
	t.Helper()
	var out []*span.Span
	for _, rs := range all {
		var shared *span.Resource
		for _, ss := range rs.GetScopeSpans() {
			for _, one := range ss.GetSpans() {
				tr, err := span.FromOTLP([]*tracepb.ResourceSpans{{
					Resource: rs.GetResource(), ScopeSpans: []*tracepb.ScopeSpans{
						{Scope: ss.GetScope(), Spans: []*tracepb.Span{one}},
					},
				}})
				if err != nil {
					t.Fatal(err)
				}
				s := tr.Spans[0]
				if shared == nil {
					shared = s.Origin.Resource
				}
				s.Origin.Resource, s.RemoteParent = shared, false
				out = append(out, s)
			}
		}
	}
	return out
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// shuffle returns all spans in an order and in batches that depend on seed, some of them repeated.
func shuffle(all []*span.Span, seed uint64) [][]*span.Span {
	r := rand.New(rand.NewPCG(seed, 1))
	list := append([]*span.Span(nil), all...)
	for range len(all) / 3 {
		copied := *all[r.IntN(len(all))]
		list = append(list, &copied)
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var out [][]*span.Span
	for len(list) > 0 {
		n := min(len(list), 1+r.IntN(20))
		out = append(out, list[:n])
		list = list[n:]
	}
	return out
}
