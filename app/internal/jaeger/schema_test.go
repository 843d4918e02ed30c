// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// v3Query returns the query of a search that finds all of a service, by the names of the specification.
func v3Query(service string, more ...string) string {
	q := url.Values{}
	q.Set("query.startTimeMin", from.Format(time.RFC3339Nano))
	q.Set("query.startTimeMax", to.Format(time.RFC3339Nano))
	if service != "" {
		q.Set("query.serviceName", service)
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "?" + q.Encode()
}

// wrapper is GRPCGatewayWrapper of jaeger-idl.
type wrapper struct {
	Result json.RawMessage `json:"result"`
}

// tracesData reads TracesData. Its JSON must have only fields of the schema, and its IDs are in
// hexadecimal digits, as in OTLP.
func tracesData(t *testing.T, doc []byte) []*tracepb.ResourceSpans {
	t.Helper()
	var schema tracepb.TracesData // its IDs are wrong: protojson reads base64
	if err := protojson.Unmarshal(doc, &schema); err != nil {
		t.Fatalf("it is no TracesData: %v", err)
	}
	data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(doc)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(data)
	if err != nil {
		t.Fatal(err)
	}
	var out tracepb.TracesData
	if err := proto.Unmarshal(wire, &out); err != nil {
		t.Fatal(err)
	}
	return out.GetResourceSpans()
}

// TestTraceV3: a trace is the one that the server exports, with open spans ended.
func TestTraceV3(t *testing.T) {
	traces := samples()
	s := start(t, &memory{traces: traces})
	for _, tr := range traces {
		var got wrapper
		s.strict(t, "/api/v3/traces/"+tr.ID.String()+"?rawTraces=true", &got)
		want := span.ToOTLP(span.EndOpen([]*span.Trace{tr}, asOf), "cluster-1")
		if d := cmp.Diff(
			want,
			tracesData(t, got.Result),
			protocmp.Transform(),
			protocmp.IgnoreEmptyMessages(),
		); d != "" {
			t.Errorf("trace %s: -exported +answered:\n%s", tr.ID, d)
		}
	}
}

// TestTraceIDs: an ID may be short or in base64, as Jaeger accepts it.
func TestTraceIDs(t *testing.T) {
	b := spantest.New("short")
	s := b.ReplicaSet(nil, 0, 1)
	b.Trace.ID = [16]byte{14: 0xab, 15: 0xcd}
	s.TraceID = b.Trace.ID
	api := start(t, &memory{traces: []*span.Trace{b.Trace}})
	for _, id := range []string{
		"abcd", "ABCD", "0000000000000000000000000000abcd", "AAAAAAAAAAAAAAAAAACrzQ==", "AAAAAAAAAAAAAAAAAACrzQ",
	} {
		for _, path := range []string{"/api/v3/traces/", "/api/traces/"} {
			if res, body := api.get(t, api.url+path+id); res.StatusCode != http.StatusOK ||
				!bytes.Contains(body, []byte("0000000000000000000000000000abcd")) {
				t.Errorf("%s%s: status %d: %s", path, id, res.StatusCode, body)
			}
		}
	}
}

// TestLargeTrace: a trace of any size comes whole, in parts.
func TestLargeTrace(t *testing.T) {
	large := spantest.New("large")
	top := large.Deployment(nil, 0, 60_000)
	const n = 2*perPart + 10
	for i := range n {
		large.Add(top, span.NamePull, "kubelet", spantest.Ref("", "Pod", fmt.Sprint("p-", i)), i, i+1)
	}
	s := start(t, &memory{traces: []*span.Trace{large.Trace}})
	s.maxSpans = 10 // that is for searches
	var got wrapper
	s.strict(t, "/api/v3/traces/"+large.Trace.ID.String(), &got)
	seen := map[string]bool{}
	for _, rs := range tracesData(t, got.Result) {
		for _, ss := range rs.GetScopeSpans() {
			for _, one := range ss.GetSpans() {
				seen[string(one.GetSpanId())] = true
			}
		}
	}
	var page struct{ grafanaTraces }
	s.strict(t, "/api/traces/"+large.Trace.ID.String(), &page)
	if want := n + 2; len(seen) != want || len(page.Data) != 1 || len(page.Data[0].Spans) != want {
		t.Errorf("%d spans in OTLP, %+v, want %d", len(seen), page, want)
	}
	if got := len(page.Data[0].Processes); got != 3 {
		t.Errorf("%d processes, want one for each of 3 services", got)
	}
}

// TestSearchV3 compares a search with the traces of the store.
func TestSearchV3(t *testing.T) {
	traces := samples()
	s := start(t, &memory{traces: traces})
	for name, query := range map[string]string{
		"service":   v3Query("kubelet"),
		"any":       v3Query(""),
		"operation": v3Query("kubelet", "query.operationName", span.NamePull, "query.searchDepth", "20"),
		"attribute": v3Query("", "query.attributes", `{"k8s.object.kind":"Deployment"}`, "query.rawTraces", "1"),
		"durations": v3Query("", "query.durationMin", "1s", "query.durationMax", "1m"),
		"old names": "?query.start_time_min=2026-03-01T11:00:00Z&query.start_time_max=2026-03-01T13:00:00.5Z" +
			"&query.service_name=kubelet&query.num_traces=20&query.duration_min=1ms",
	} {
		t.Run(name, func(t *testing.T) {
			given, err := url.ParseQuery(query[1:])
			if err != nil {
				t.Fatal(err)
			}
			q, err := searchV3(given)
			if err != nil {
				t.Fatal(err)
			}
			want, spans := map[string]bool{}, 0
			for _, tr := range traces {
				if slices.ContainsFunc(tr.Spans, q.Fits) {
					want[tr.ID.String()] = true
					spans += len(tr.Spans)
				}
			}
			var got wrapper
			s.strict(t, "/api/v3/traces"+query, &got)
			found, n := map[string]bool{}, 0
			for _, rs := range tracesData(t, got.Result) {
				for _, ss := range rs.GetScopeSpans() {
					for _, one := range ss.GetSpans() {
						found[fmt.Sprintf("%x", one.GetTraceId())] = true
						n++
					}
				}
			}
			if d := cmp.Diff(want, found); d != "" || n != spans || n == 0 {
				t.Errorf("%d spans, want %d; traces -want +got:\n%s", n, spans, d)
			}
		})
	}
}

// TestSummaries has the fields of TraceSummary in jaeger-idl, and the formats that Jaeger's page checks.
func TestSummaries(t *testing.T) {
	lone := spantest.New("lone")
	for i, service := range []string{"", "a\xffb"} {
		one := lone.ReplicaSet(nil, 10*i, 20)
		one.Service, one.Parent, one.RemoteParent = service, [8]byte{1}, true
	}
	s := start(t, &memory{traces: []*span.Trace{spantest.Joined(), lone.Trace}})
	var got struct {
		Summaries []summary `json:"summaries"`
	}
	s.strict(t, "/api/v3/trace-summaries"+v3Query(""), &got)
	joined := spantest.Joined()
	counts := map[string]int{}
	for _, one := range joined.Spans {
		counts[one.Service]++
	}
	services := []serviceSummary{}
	for service, n := range counts {
		services = append(services, serviceSummary{Name: service, Spans: n})
	}
	slices.SortFunc(services, func(a, b serviceSummary) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	for i := range services {
		if services[i].Name == "containerd" {
			services[i].Errors = 1
		}
	}
	at := func(ms int) string { return nanos(spantest.At(ms).Time) }
	want := []summary{
		{
			TraceID: joined.ID.String(), RootService: "kubectl", RootOperation: "run", Start: at(0), End: at(4210),
			Spans: len(joined.Spans), Errors: 1, Services: services,
		},
		{
			TraceID: lone.Trace.ID.String(), RootService: unknownService, RootOperation: "reconcile ReplicaSet",
			Start: at(0), End: at(20), Spans: 2, Orphans: 2,
			Services: []serviceSummary{{Name: "a\uFFFDb", Spans: 1}, {Name: unknownService, Spans: 1}},
		},
	}
	slices.SortFunc(want, func(a, b summary) int { return bytes.Compare([]byte(b.TraceID), []byte(a.TraceID)) })
	if d := cmp.Diff(want, got.Summaries); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	got.Summaries = nil
	s.strict(t, "/api/v3/trace-summaries"+v3Query("nothing"), &got)
	if got.Summaries == nil || len(got.Summaries) != 0 {
		t.Errorf("no match: %+v, want an empty list", got.Summaries)
	}
}

// TestNames has the fields of both forms.
func TestNames(t *testing.T) {
	s := start(t, &memory{traces: []*span.Trace{spantest.Apply()}})
	var services struct {
		Services []string `json:"services"`
	}
	s.strict(t, "/api/v3/services", &services)
	if want := []string{
		"deployment-controller", "kube-scheduler", "kubectl", "kubelet", "replicaset-controller",
	}; !slices.Equal(services.Services, want) {
		t.Errorf("%q, want %q", services.Services, want)
	}
	var operations struct {
		Operations []operation `json:"operations"`
	}
	s.strict(t, "/api/v3/operations?service=kubectl&spanKind=client", &operations)
	if want := []operation{
		{"create Deployment", "internal"},
		{"run", "internal"},
	}; !slices.Equal(operations.Operations, want) {
		t.Errorf("%+v, want %+v", operations.Operations, want)
	}
	var page struct {
		Data   []operation `json:"data"`
		Total  int         `json:"total"`
		Limit  int         `json:"limit"`
		Offset int         `json:"offset"`
		Errors []pageError `json:"errors"`
	}
	s.strict(t, "/api/operations?service=kubectl", &page)
	if want := []operation{{"create Deployment", ""}, {"run", ""}}; !slices.Equal(page.Data, want) || page.Total != 2 {
		t.Errorf("%+v, want %+v", page, want)
	}
}

// TestHostile: whatever a cluster contains, the answers are valid UTF-8 and JSON.
func TestHostile(t *testing.T) {
	hostile := spantest.Hostile()
	s := start(t, &memory{traces: []*span.Trace{hostile}})
	for _, path := range []string{
		"/api/v3/services", "/api/services", "/api/v3/traces" + v3Query(""), "/api/v3/trace-summaries" + v3Query(""),
		"/api/v3/traces/" + hostile.ID.String(), "/api/traces/" + hostile.ID.String(),
		"/api/v3/operations?service=" + url.QueryEscape(valid(hostile.Spans[1].Service)),
		"/api/traces?limit=5&service=kubelet&start=0",
	} {
		res, body := s.get(t, s.url+path)
		if res.StatusCode != http.StatusOK || !utf8.Valid(body) || !json.Valid(body) ||
			len(body) < 100 && path[5:7] != "se" {
			t.Errorf("%s: status %d, valid UTF-8 %t: %s", path, res.StatusCode, utf8.Valid(body), body)
		}
	}
}
