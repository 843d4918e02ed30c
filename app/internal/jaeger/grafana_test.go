// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// grafana makes the requests of Grafana's Jaeger data source, and reads their answers with its types
// (pkg/tsdb/jaeger).
type grafana struct {
	t   *testing.T
	s   *serving
	url string
}

// grafanaNames is an answer about services or operations.
type grafanaNames struct {
	Data   []string `json:"data"`
	Errors any      `json:"errors"`
	Limit  int      `json:"limit"`
	Offset int      `json:"offset"`
	Total  int      `json:"total"`
}

type grafanaPair struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type grafanaProcess struct {
	ServiceName string        `json:"serviceName"`
	Tags        []grafanaPair `json:"tags"`
}

type grafanaReference struct {
	RefType string `json:"refType"`
	SpanID  string `json:"spanID"`
	TraceID string `json:"traceID"`
}

type grafanaLog struct {
	Timestamp int64         `json:"timestamp"`
	Fields    []grafanaPair `json:"fields"`
	Name      string        `json:"name"`
}

type grafanaSpan struct {
	TraceID       string             `json:"traceID"`
	SpanID        string             `json:"spanID"`
	ProcessID     string             `json:"processID"`
	OperationName string             `json:"operationName"`
	StartTime     int64              `json:"startTime"`
	Duration      int64              `json:"duration"`
	Logs          []grafanaLog       `json:"logs"`
	References    []grafanaReference `json:"references"`
	Tags          []grafanaPair      `json:"tags"`
	Warnings      []string           `json:"warnings"`
	Flags         int                `json:"flags"`
	StackTraces   []string           `json:"stackTraces"`
}

type grafanaTrace struct {
	Processes map[string]grafanaProcess `json:"processes"`
	TraceID   string                    `json:"traceID"`
	Warnings  []string                  `json:"warnings"`
	Spans     []grafanaSpan             `json:"spans"`
}

type grafanaTraces struct {
	Data   []grafanaTrace `json:"data"`
	Errors any            `json:"errors"`
	Limit  int            `json:"limit"`
	Offset int            `json:"offset"`
	Total  int            `json:"total"`
}

func (g *grafana) join(parts ...string) string {
	g.t.Helper()
	u, err := url.JoinPath(g.url, parts...)
	if err != nil {
		g.t.Fatal(err)
	}
	return u
}

// read requests a URL, and returns the status. A status of success has a body.
func (g *grafana) read(u string, into any) int {
	g.t.Helper()
	res, body := g.s.get(g.t, u)
	if res.StatusCode/100 != 2 {
		return res.StatusCode
	}
	if err := json.Unmarshal(body, into); err != nil {
		g.t.Fatalf("%s: %v in %s", u, err, body)
	}
	return res.StatusCode
}

// services is JaegerClient.Services, also the check of the data source.
func (g *grafana) services() []string {
	g.t.Helper()
	var got grafanaNames
	g.read(g.join("/api/services"), &got)
	return got.Data
}

// operations is JaegerClient.Operations. It does not escape the service.
func (g *grafana) operations(service string) []string {
	g.t.Helper()
	var got grafanaNames
	g.read(g.join("/api/services/", service, "/operations"), &got)
	return got.Data
}

// search is JaegerClient.Search, with the tags after their conversion from logfmt.
func (g *grafana) search(query map[string]string, tags map[string]string, limit int, from, to time.Time) grafanaTraces {
	g.t.Helper()
	u, err := url.Parse(g.join("api/traces"))
	if err != nil {
		g.t.Fatal(err)
	}
	q := u.Query()
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if start := from.UnixMicro(); start > 0 {
		q.Set("start", strconv.FormatInt(start, 10))
	}
	if end := to.UnixMicro(); end > 0 {
		q.Set("end", strconv.FormatInt(end, 10))
	}
	if len(tags) > 0 {
		text, err := json.Marshal(tags)
		if err != nil {
			g.t.Fatal(err)
		}
		q.Set("tags", string(text))
	}
	for key, value := range query {
		if value != "" {
			q.Set(key, value)
		}
	}
	u.RawQuery = q.Encode()
	var got grafanaTraces
	if code := g.read(u.String(), &got); code != http.StatusOK {
		g.t.Fatalf("%s: status %d", u, code)
	}
	return got
}

// trace is JaegerClient.Trace, with the time range in milliseconds, as Grafana sends it.
func (g *grafana) trace(id string, from, to time.Time, times bool) (grafanaTrace, int) {
	g.t.Helper()
	u := g.join("/api/traces", url.QueryEscape(id))
	if times {
		u += fmt.Sprintf("?end=%d&start=%d", to.UnixMilli(), from.UnixMilli())
	}
	var got grafanaTraces
	code := g.read(u, &got)
	if code/100 != 2 {
		return grafanaTrace{}, code
	}
	return got.Data[0], code
}

// row is a row of Grafana's table of traces.
type row struct {
	traceID, name string
	start         time.Time
	duration      int64
}

// rows is TransformSearchResponse.
func rows(traces []grafanaTrace) []row {
	root := func(tr grafanaTrace) grafanaSpan {
		out := tr.Spans[0]
		for _, s := range tr.Spans {
			if s.StartTime < out.StartTime {
				out = s
			}
		}
		return out
	}
	sort.Slice(traces, func(i, j int) bool { return root(traces[i]).StartTime > root(traces[j]).StartTime })
	var out []row
	for _, tr := range traces {
		if len(tr.Spans) == 0 {
			continue
		}
		top, service := root(tr), ""
		if process, ok := tr.Processes[top.ProcessID]; ok {
			service = process.ServiceName
		}
		out = append(out, row{
			tr.TraceID, fmt.Sprintf("%s: %s", service, top.OperationName), time.Unix(0, top.StartTime*1000).UTC(),
			top.Duration,
		})
	}
	return out
}

func newGrafana(t *testing.T, traces []*span.Trace) *grafana {
	s := start(t, &memory{traces: traces})
	return &grafana{t: t, s: s, url: s.url + "/"}
}

// from and to are the time range of Grafana, around all samples.
var from, to = spantest.Epoch.Add(-time.Hour), spantest.Epoch.Add(time.Hour)

func TestGrafanaNames(t *testing.T) {
	traces := samples()
	strange := spantest.New("strange")
	strange.Add(nil, "operate/on it?", "controller/with slash & 100%25", spantest.Ref("", "Pod", "p"), 0, 1)
	strange.Add(nil, "without a service", "", spantest.Ref("", "Pod", "p"), 0, 1)
	traces = append(traces, strange.Trace)
	g := newGrafana(t, traces)
	want := map[string]map[string]bool{}
	for _, tr := range traces {
		for _, s := range tr.Spans {
			service := valid(s.Service)
			if want[service] == nil {
				want[service] = map[string]bool{}
			}
			want[service][valid(s.Name)] = true
		}
	}
	services := g.services()
	if n := len(services); n != len(want)-1 || !slices.IsSorted(services) || slices.Contains(services, "") {
		t.Errorf("%d services: %q, want the %d with a name, sorted", n, services, len(want)-1)
	}
	for _, service := range services {
		if service != "controller/with slash & 100%25" && url.PathEscape(service) != service {
			continue // Grafana's URL would be wrong
		}
		var names []string
		for name := range want[service] {
			names = append(names, name)
		}
		slices.Sort(names)
		asked := service
		if service == "controller/with slash & 100%25" {
			asked = "controller/with slash & 100%2525" // as JoinPath needs it
		}
		if d := cmp.Diff(names, g.operations(asked)); d != "" || len(names) == 0 {
			t.Errorf("operations of %q: -want +got:\n%s", service, d)
		}
	}
	// The frontend escapes the service.
	var got grafanaNames
	for service := range want {
		if service == "" {
			continue
		}
		g.read(g.url+"api/services/"+url.PathEscape(service)+"/operations", &got)
		if len(got.Data) != len(want[service]) || got.Total != len(got.Data) {
			t.Errorf("operations of %q: %q, want %d", service, got.Data, len(want[service]))
		}
	}
}

func TestGrafanaSearch(t *testing.T) {
	traces := samples()
	g := newGrafana(t, traces)
	ids := func(match func(*span.Span) bool) (out []string) {
		for _, tr := range traces {
			if slices.ContainsFunc(tr.Spans, match) {
				out = append(out, tr.ID.String())
			}
		}
		return out
	}
	cases := map[string]struct {
		query, tags map[string]string
		want        []string
	}{
		"service": {
			query: map[string]string{"service": "kubelet"},
			want:  ids(func(s *span.Span) bool { return s.Service == "kubelet" }),
		},
		"operation": {
			query: map[string]string{"service": "kubelet", "operation": span.NamePull},
			want:  ids(func(s *span.Span) bool { return s.Service == "kubelet" && s.Name == span.NamePull }),
		},
		"durations": {
			query: map[string]string{"service": "kubelet", "minDuration": "1s", "maxDuration": "1m"},
			want: ids(func(s *span.Span) bool {
				return s.Service == "kubelet" && !s.Open() && s.Duration(asOf) >= time.Second
			}),
		},
		"tags": {
			query: map[string]string{"service": "deployment-controller"},
			tags:  map[string]string{"k8s.object.kind": "Deployment", "k8s.namespace.name": "default"},
			want: ids(func(s *span.Span) bool {
				return s.Service == "deployment-controller" && s.Object.Namespace == "default"
			}),
		},
		"unknown tag": {
			query: map[string]string{"service": "kubelet"},
			tags:  map[string]string{"http.status_code": "200"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := g.search(tc.query, tc.tags, 20, from, to)
			var found []string
			for _, r := range rows(got.Data) {
				found = append(found, r.traceID)
			}
			slices.Sort(found)
			slices.Sort(tc.want)
			if d := cmp.Diff(tc.want, found, cmpopts.EquateEmpty()); d != "" || got.Data == nil || got.Errors != nil {
				t.Errorf("errors %v, -want +got:\n%s", got.Errors, d)
			}
			if name != "unknown tag" && len(found) == 0 {
				t.Error("the case finds nothing")
			}
		})
	}
	if got := g.search(map[string]string{"service": "kubelet"}, nil, 1, from, to); len(got.Data) != 1 {
		t.Errorf("limit 1: %d traces", len(got.Data))
	}
	if got := g.search(map[string]string{"service": "kubelet"}, nil, 20, from.Add(-time.Hour), from); len(
		got.Data,
	) != 0 {
		t.Errorf("an hour without traces: %d traces", len(got.Data))
	}
}

func TestGrafanaRow(t *testing.T) {
	g := newGrafana(t, []*span.Trace{spantest.Apply(), spantest.Unschedulable()})
	got := rows(g.search(map[string]string{"service": "deployment-controller"}, nil, 20, from, to).Data)
	want := row{spantest.Apply().ID.String(), "kubectl: run", spantest.Epoch, 4_210_000}
	if !slices.Contains(got, want) {
		t.Errorf("%+v, want a row %+v", got, want)
	}
}

// TestGrafanaTrace compares each span of each sample with Grafana's view of it.
func TestGrafanaTrace(t *testing.T) {
	traces := samples()
	g := newGrafana(t, traces)
	for _, tr := range traces {
		got, code := g.trace(tr.ID.String(), from, to, true)
		if code != http.StatusOK || got.TraceID != tr.ID.String() || len(got.Spans) != len(tr.Spans) {
			t.Fatalf(
				"trace %s: status %d, %d spans of %q, want %d",
				tr.ID,
				code,
				len(got.Spans),
				got.TraceID,
				len(tr.Spans),
			)
		}
		byID := map[string]grafanaSpan{}
		for _, s := range got.Spans {
			byID[s.SpanID] = s
		}
		for _, s := range span.EndOpen([]*span.Trace{tr}, asOf)[0].Spans {
			grafanaShows(t, s, byID[s.ID.String()], got.Processes)
		}
	}
	if _, code := g.trace("ffffffffffffffffffffffffffffffff", from, to, false); code != http.StatusNotFound {
		t.Errorf("an unknown trace has status %d, want 404", code)
	}
}

// grafanaShows compares a span of the store with the one that TransformTraceResponse shows.
func grafanaShows(t *testing.T, want *span.Span, got grafanaSpan, processes map[string]grafanaProcess) {
	t.Helper()
	parent, refs := "", []grafanaReference{}
	for _, r := range got.References {
		if r.RefType == "CHILD_OF" && parent == "" {
			parent = r.SpanID
		}
	}
	for _, r := range got.References {
		if parent == "" || r.SpanID != parent {
			refs = append(refs, r)
		}
	}
	wantParent := ""
	if want.Parent.IsValid() {
		wantParent = want.Parent.String()
	}
	// The page of Grafana hides a link to the parent.
	links := slices.DeleteFunc(slices.Clone(want.Links), func(l span.Link) bool { return l.SpanID == want.Parent })
	of, known := processes[got.ProcessID]
	if !known || of.ServiceName != serviceOf(want) || got.OperationName != valid(want.Name) || parent != wantParent ||
		len(refs) != len(links) || len(got.Logs) != len(want.Events) ||
		got.StartTime != want.Start.UnixMicro() || got.Duration != want.Duration(asOf).Microseconds() {
		t.Errorf("span %s %q: got %+v of process %+v", want.ID, want.Name, got, of)
	}
	for i, l := range links {
		if i < len(refs) && (refs[i] != grafanaReference{"FOLLOWS_FROM", l.SpanID.String(), l.TraceID.String()}) {
			t.Errorf("span %s: link %d is %+v, want %s of trace %s", want.ID, i, refs[i], l.SpanID, l.TraceID)
		}
	}
	tags := map[string]any{}
	for _, p := range got.Tags {
		tags[p.Key] = p.Value
	}
	for _, kv := range want.Attributes {
		if _, there := tags[valid(string(kv.Key))]; !there {
			t.Errorf("span %s has no tag %q", want.ID, kv.Key)
		}
	}
	if failed := tags["error"] == true; failed != (want.Status == span.StatusError) {
		t.Errorf("span %s: error %v, want %v", want.ID, tags["error"], want.Status)
	}
	if want.Object.Kind.Kind != "" && tags[string(span.KeyName)] != valid(want.Object.Name) {
		t.Errorf("span %s: name %q, want %q", want.ID, tags[string(span.KeyName)], want.Object.Name)
	}
	for i, e := range want.Events {
		l := got.Logs[i]
		if l.Timestamp != e.Time.UnixMicro() || len(l.Fields) == 0 ||
			(l.Fields[0] != grafanaPair{"event", "string", valid(e.Name)}) {
			t.Errorf("span %s: event %d is %+v, want %q at %s", want.ID, i, l, e.Name, e.Time)
		}
	}
}

// TestGrafanaDependencies: the graph of services is empty, and no error.
func TestGrafanaDependencies(t *testing.T) {
	g := newGrafana(t, samples())
	var got struct {
		Data []struct {
			Parent    string `json:"parent"`
			Child     string `json:"child"`
			CallCount int    `json:"callCount"`
		} `json:"data"`
		Errors []struct {
			Code int    `json:"code"`
			Msg  string `json:"msg"`
		} `json:"errors"`
	}
	u := g.join("/api/dependencies") + fmt.Sprintf("?endTs=%d&lookback=%d", to.UnixMilli(), to.Sub(from).Milliseconds())
	if code := g.read(u, &got); code != http.StatusOK || got.Data == nil || len(got.Data) != 0 || len(got.Errors) != 0 {
		t.Errorf("status %d, %+v", code, got)
	}
}

// TestGrafanaV3 has the requests behind Grafana's feature toggle jaegerEnableGrpcEndpoint. The times are
// not escaped, not even the sign of their zone.
func TestGrafanaV3(t *testing.T) {
	g := newGrafana(t, samples())
	var services struct {
		Services []string `json:"services"`
	}
	if code := g.read(g.join("/api/v3/services"), &services); code != http.StatusOK ||
		!slices.Equal(services.Services, g.services()) {
		t.Errorf("status %d, %q", code, services.Services)
	}
	var operations struct {
		Operations []struct {
			Name     string `json:"name"`
			SpanKind string `json:"spanKind"`
		} `json:"operations"`
	}
	code := g.read(g.join("/api/v3/operations")+"?service=kubelet", &operations)
	if code != http.StatusOK || len(operations.Operations) != len(g.operations("kubelet")) {
		t.Errorf("status %d, %+v", code, operations)
	}
	type traces struct {
		Result struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID string `json:"traceId"`
						Start   string `json:"startTimeUnixNano"`
						Kind    int64  `json:"kind"`
					} `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		} `json:"result"`
		Error struct {
			HTTPCode int    `json:"httpCode"`
			Message  string `json:"message"`
		} `json:"error"`
	}
	zone := time.FixedZone("", 2*60*60)
	q := url.Values{}
	q.Set("query.service_name", "kubelet")
	q.Set("query.attributes", `{"k8s.object.kind":"Pod"}`)
	q.Set("query.duration_min", "1ms")
	u := g.join("/api/v3/traces") + "?" + q.Encode() + fmt.Sprintf("&query.start_time_min=%s&query.start_time_max=%s",
		from.In(zone).Format(time.RFC3339Nano), to.In(zone).Format(time.RFC3339Nano))
	var found traces
	if code := g.read(u, &found); code != http.StatusOK || len(found.Result.ResourceSpans) == 0 {
		t.Fatalf("%s: status %d, %+v", u, code, found)
	}
	for _, rs := range found.Result.ResourceSpans {
		if first := rs.ScopeSpans[0].Spans[0]; first.TraceID == "" || first.Start == "" || first.Kind == 0 {
			t.Errorf("a first span %+v", first)
		}
	}
	id := spantest.Joined().ID.String()
	u = g.join("/api/v3/traces", url.QueryEscape(id)) + fmt.Sprintf("?start_time=%s&end_time=%s",
		from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	var one traces
	if code := g.read(u, &one); code != http.StatusOK || one.Error.HTTPCode != 0 || len(one.Result.ResourceSpans) == 0 {
		t.Errorf("%s: status %d, %+v", u, code, one)
	}
	unknown := g.join("/api/v3/traces", "ffffffffffffffffffffffffffffffff")
	if code := g.read(unknown, &one); code != http.StatusNotFound {
		t.Errorf("an unknown trace has status %d, want 404", code)
	}
}
