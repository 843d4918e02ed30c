// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

func TestRefusals(t *testing.T) {
	s := start(t, Options{Hosts: []string{"lifeline.example"}})
	apply := spantest.Apply().ID.String()
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	cases := map[string]struct {
		reason string
		path   string
		change func(*http.Request)
		code   int
		text   string
	}{
		"nowhere": {
			"the message names the paths",
			"/api/v2/traces",
			nil,
			404,
			`no \"/api/v2/traces\" here: try /api/v1/info`,
		},
		"root": {"the same for a browser", "/", nil, 404, "/api/v1/traces"},
		"method": {
			"it only reads",
			"/api/v1/traces",
			func(r *http.Request) { r.Method = "DELETE" },
			405,
			"use GET",
		},
		"head": {"not even HEAD", "/api/v1/traces", func(r *http.Request) { r.Method = "HEAD" }, 405, ""},
		"body": {
			"the body would stay unread",
			"/api/v1/traces",
			func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1 },
			413,
			"body",
		},
		"huge URL": {
			"it is bounded",
			"/api/v1/traces?name=" + strings.Repeat("x", 9000),
			nil,
			414,
			"no more than 8192",
		},
		"long value": {
			"values are bounded, too",
			"/api/v1/traces?name=" + strings.Repeat("x", 2000),
			nil,
			400,
			`parameter \"name\": it has 2000 bytes`,
		},
		"unknown": {
			"a typing error is no filter",
			"/api/v1/traces?namspace=x",
			nil,
			400,
			`unknown parameter \"namspace\": the parameters are after, category, group,`,
		},
		"unknown info":  {"everywhere", "/api/v1/info?x=1", nil, 400, `parameter \"x\"`},
		"unknown trace": {"everywhere", "/api/v1/traces/" + apply + "?x=1", nil, 400, `parameter \"x\"`},
		"unknown watch": {"everywhere", "/api/v1/watch?limit=1", nil, 400, `parameter \"limit\"`},
		"twice": {
			"which one counts?",
			"/api/v1/traces?name=a&name=b",
			nil,
			400,
			`parameter \"name\": it was given 2 times`,
		},
		"bad escape": {
			"half of a query is none",
			"/api/v1/traces?name=%zz",
			nil,
			400,
			"the parameters cannot be read",
		},
		"semicolon": {
			"Go would drop it in silence",
			"/api/v1/traces?a;b",
			nil,
			400,
			"the parameters cannot be read",
		},
		"time": {
			"the message has an example of a time",
			"/api/v1/traces?since=yesterday",
			nil,
			400,
			`parameter \"since\": \"yesterday\" is neither a time such as`,
		},
		"future": {"durations count back", "/api/v1/traces?until=-1h", nil, 400, `parameter \"until\"`},
		"duration": {
			"the message has an example of a duration",
			"/api/v1/traces?slowerThan=2",
			nil,
			400,
			`parameter \"slowerThan\": \"2\" is no duration`,
		},
		"id": {
			"the first digits do not suffice in a list",
			"/api/v1/traces?id=193797b1e3343470432b935e3f525b28,193797b1",
			nil,
			400,
			`parameter \"id\": \"193797b1\" is no trace ID`,
		},
		"id and where": {
			"the question selects the traces",
			"/api/v1/traces?id=193797b1e3343470432b935e3f525b28&where=true",
			nil,
			400,
			`parameter \"id\": it cannot be combined with \"where\"`,
		},
		"writes of two traces": {
			"writes have one trace",
			"/api/v1/writes?traceId=193797b1e3343470432b935e3f525b28,293797b1e3343470432b935e3f525b28",
			nil,
			400,
			`parameter \"traceId\": it has 2 trace IDs`,
		},
		"category": {
			"a closed list",
			"/api/v1/traces?category=image_not_found,nope",
			nil,
			400,
			`parameter \"category\": \"nope\" is not known: the values are unschedulable, `,
		},
		"outcome": {
			"the message lists the outcomes",
			"/api/v1/traces?outcome=failed,ok",
			nil,
			400,
			`parameter \"outcome\": \"ok\" is not known: the values are converged, superseded, `,
		},
		"part": {
			"a closed list",
			"/api/v1/writes?part=foo",
			nil,
			400,
			`parameter \"part\": \"foo\" is unknown: known are desired, metadata, observed, bookkeeping, ownership`,
		},
		"no words": {
			"nothing to look for",
			"/api/v1/traces/" + apply + "/find",
			nil,
			400,
			`parameter \"text\": it has no words`,
		},
		"the zero time": {
			"it is a time like others",
			"/api/v1/density?since=0001-01-01T00:00:00Z",
			nil,
			400,
			"longer than 100 years",
		},
		"open": {
			"yes or no",
			"/api/v1/traces?open=1",
			nil,
			400,
			`parameter \"open\": \"1\" is neither true nor false`,
		},
		"limit": {"not a number", "/api/v1/traces?limit=many", nil, 400, `parameter \"limit\"`},
		"absurd limit": {
			"not more than the store gives",
			"/api/v1/traces?limit=999999999999999999999",
			nil,
			400,
			"from 1 to 10000",
		},
		"zero limit":   {"a page has something", "/api/v1/writes?limit=0", nil, 400, `parameter \"limit\"`},
		"cursor":       {"only what a page gave", "/api/v1/traces?after=AAAA", nil, 400, `parameter \"after\"`},
		"write cursor": {"only what a page gave", "/api/v1/writes?after=x", nil, 400, `parameter \"after\"`},
		"write trace":  {"a whole ID", "/api/v1/writes?traceId=4bf9", nil, 400, `parameter \"traceId\"`},
		"short ID":     {"eight digits at least", "/api/v1/traces/4bf92f3", nil, 400, "no trace ID"},
		"long ID":      {"32 digits at most", "/api/v1/traces/" + apply + "0", nil, 400, "no trace ID"},
		"zero ID":      {"it is none", "/api/v1/traces/" + strings.Repeat("0", 32), nil, 400, "no trace ID"},
		"strange ID": {
			"quoted input is escaped and short",
			"/api/v1/traces/%1b%5b31m" + strings.Repeat("x", 500),
			nil,
			400,
			`\"\\x1b[31mx`,
		},
		"unknown ID": {
			"it is not there",
			"/api/v1/traces/" + strings.Repeat("1", 32),
			nil,
			404,
			"there is no such trace",
		},
		"unknown prefix": {"it is not there", "/api/v1/traces/11111111", nil, 404, "there is no such trace"},
		"rebound": {
			"a web page's name that leads to loopback",
			"/api/v1/info",
			host("evil.example:7070"),
			403,
			"evil.example",
		},
		"own name": {
			"a name that the listener was given",
			"/api/v1/info",
			host("Lifeline.Example:7070"),
			200,
			"",
		},
		"localhost": {"everybody's name", "/api/v1/info", host("localhost.:1"), 200, ""},
		"IPv6":      {"an address is no name", "/api/v1/info", host("[::1]:7070"), 200, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			if tc.change == nil {
				tc.change = func(*http.Request) {}
			}
			res, body := s.get(t, tc.path, tc.change)
			if res.StatusCode != tc.code || !strings.Contains(string(body), tc.text) {
				t.Errorf("got %d %s, want %d and %q", res.StatusCode, body, tc.code, tc.text)
			}
			if got := res.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("type is %q", got)
			}
			var got Problem
			if err := json.Unmarshal(body, &got); tc.code >= 400 && tc.text != "" &&
				(err != nil || got.Error.Code != tc.code || len(got.Error.Message) > 1000) {
				t.Errorf("%v: %s", err, body)
			}
		})
	}
	if n := s.counts.panics.Load(); n != 0 {
		t.Errorf("%d panics", n)
	}
}

// TestTraceIsWhatIsRendered: the document is that of render.JSON, with an additional member that
// receivers ignore.
func TestTraceIsWhatIsRendered(t *testing.T) {
	s := start(t, Options{})
	for _, tr := range append(spantest.Healing(), spantest.Apply(), spantest.Unschedulable(), spantest.CrashLoop()) {
		res, got := s.get(t, "/api/v1/traces/"+tr.ID.String())
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", res.StatusCode, got)
		}
		var want bytes.Buffer
		if err := render.JSON(&want, []*span.Trace{tr}, render.Options{Now: asOf, Cluster: "cluster-1"}); err != nil {
			t.Fatal(err)
		}
		rendered := strings.TrimSuffix(want.String(), "}\n")
		rest, same := strings.CutPrefix(string(got), rendered+`,"lifeline":`)
		if !same {
			t.Errorf("-want +got:\n%s", cmp.Diff(rendered, string(got)))
		}
		if strings.Count(string(got), "\n") != 1 {
			t.Error("it is not one line")
		}
		var detail Detail
		if err := json.Unmarshal([]byte(strings.TrimSuffix(rest, "}\n")), &detail); err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, sp := range tr.Spans {
			if sp.Open() {
				open++
			}
		}
		if detail.Summary.TraceID != tr.ID.String() || len(detail.OpenSpans) != open ||
			detail.Summary.Reason != tr.Reason ||
			!detail.Summary.AsOf.Equal(asOf) {
			t.Errorf("got %+v", detail)
		}
		data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(got)
		if err != nil || data.SpanCount() != len(tr.Spans) {
			t.Errorf("a receiver cannot read it: %d spans, %v", data.SpanCount(), err)
		}
	}
}

func TestTraceByPrefix(t *testing.T) {
	v := filled(t)
	s := start(t, Options{Access: v.Access})
	for _, n := range []int{8, 9, 31, 32} {
		for _, form := range []func(string) string{strings.ToLower, strings.ToUpper} {
			id := spantest.Apply().ID.String()
			if res, got := s.get(t, "/api/v1/traces/"+form(id[:n])); res.StatusCode != http.StatusOK ||
				!strings.Contains(string(got), id) {
				t.Errorf("%d digits: status %d", n, res.StatusCode)
			}
		}
	}
	twin := spantest.Apply()
	twin.ID[15]++
	for _, sp := range twin.Spans {
		sp.TraceID = twin.ID
	}
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{twin}})
	if res, got := s.get(t, "/api/v1/traces/"+twin.ID.String()[:31]); res.StatusCode != http.StatusConflict {
		t.Errorf("two traces begin so: status %d: %s", res.StatusCode, got)
	}
}

func TestList(t *testing.T) {
	s := start(t, Options{})
	cases := map[string]struct{ reason, query, want string }{
		"all":       {"newest first", "", "7"},
		"open":      {"one waits", "open=true", "1"},
		"failed":    {"any of the outcomes", "outcome=failed,deleted", "failed"},
		"since":     {"back from now", "since=90s", "7"},
		"nothing":   {"nothing began so late", "since=1s", "0"},
		"until":     {"a time", "until=2026-03-01T12:00:00Z", "0"},
		"slower":    {"at least that long", "slowerThan=10s", "1+"},
		"object":    {"all fields must fit one object", "namespace=default&kind=Deployment&group=apps&name=web", "1+"},
		"no object": {"it is not there", "name=nobody", "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var got Page
			s.into(t, "/api/v1/traces?"+tc.query, &got)
			switch n := len(got.Traces); {
			case tc.want == "failed":
				for _, sum := range got.Traces {
					if sum.Outcome != span.Failed && sum.Outcome != span.Deleted {
						t.Errorf("%s is %s", sum.TraceID, sum.Outcome)
					}
				}
			case tc.want == "1+" && n == 0, tc.want != "1+" && fmt.Sprint(n) != tc.want:
				t.Errorf("got %d traces, want %s", n, tc.want)
			}
			if got.Traces == nil {
				t.Error("the list is null")
			}
		})
	}
}

func TestListOfIDs(t *testing.T) {
	s := start(t, Options{})
	var all, got Page
	s.into(t, "/api/v1/traces", &all)
	first, last := all.Traces[0].TraceID, all.Traces[len(all.Traces)-1].TraceID
	s.into(t, "/api/v1/traces?id="+last+",0123456789abcdef0123456789abcdef,"+strings.ToUpper(first), &got)
	var ids []string
	for _, sum := range got.Traces {
		ids = append(ids, sum.TraceID)
	}
	if diff := cmp.Diff([]string{first, last}, ids); diff != "" {
		t.Errorf("an unknown ID is left out: -want +got:\n%s", diff)
	}
}

func TestDensity(t *testing.T) {
	s := start(t, Options{})
	var all, failed Density
	s.into(t, "/api/v1/density?buckets=24", &all)
	if !all.Since.Equal(asOf.Add(-24*time.Hour)) || all.Width != Seconds(time.Hour) || len(all.Buckets) != 24 {
		t.Errorf("got %+v", all)
	}
	// all samples begin in the last hour; one is open
	if last := all.Buckets[23]; last.Count != 7 || last.Open != 1 || all.Buckets[22].Count != 0 {
		t.Errorf("got %+v", all.Buckets)
	}
	s.into(t, "/api/v1/density?outcome=failed&since=2h", &failed)
	n := int64(0)
	for _, b := range failed.Buckets {
		n += b.Failed
	}
	var page Page
	s.into(t, "/api/v1/traces?outcome=failed", &page)
	if len(failed.Buckets) != 60 || int(n) != len(page.Traces) || n == 0 {
		t.Errorf("%d of %d failed, in %d buckets", n, len(page.Traces), len(failed.Buckets))
	}
	for text, want := range map[string]int64{`user == "nobody"`: 0, `kind in ["Pod", "Deployment"]`: 1} {
		var asked Density
		s.into(t, "/api/v1/density?buckets=1&where="+url.QueryEscape(text), &asked)
		s.into(t, "/api/v1/traces?where="+url.QueryEscape(text), &page)
		if got := asked.Buckets[0].Count; got != int64(len(page.Traces)) || got < want || got > 7*want {
			t.Errorf("%s: %d traces, but %d in the list", text, got, len(page.Traces))
		}
	}
	var groups GroupPage
	s.into(t, "/api/v1/groups?by=outcome", &groups)
	if groups.Open == 0 {
		t.Errorf("got %+v", groups)
	}
	for _, bad := range []string{
		"where=kind",
		"buckets=0", "buckets=1001", "since=1h&until=2h", "limit=3", "buckets=1&since=1700-01-01T00:00:01Z",
	} {
		if res, body := s.get(t, "/api/v1/density?"+bad); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, res.StatusCode, body)
		}
	}
}

func TestListPages(t *testing.T) {
	s := start(t, Options{})
	seen := map[string]bool{}
	after := ""
	for range 10 {
		var page Page
		s.into(t, "/api/v1/traces?limit=2&after="+after, &page)
		for _, sum := range page.Traces {
			if seen[sum.TraceID] {
				t.Errorf("%s comes twice", sum.TraceID)
			}
			seen[sum.TraceID] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(seen) != 7 {
		t.Errorf("got %d traces", len(seen))
	}
}

func TestSummaryOnTheWire(t *testing.T) {
	s := start(t, Options{})
	var got struct{ Traces []map[string]any }
	s.into(t, "/api/v1/traces?name=web&outcome=converged&limit=1", &got)
	want := map[string]any{
		"traceId":         "4bf92f3577b34da6a3ce929d0e0e4736",
		"open":            false,
		"start":           "2026-03-01T12:00:00Z",
		"state":           "converged",
		"duration":        4.21,
		"outcome":         "converged",
		"name":            "run",
		"command":         "kubectl apply -f web.yaml",
		"actor":           "kubectl",
		"slowest":         "pull image nginx:1.27",
		"slowestDuration": 2.93,
		"work": []any{
			map[string]any{"name": "reconcile Deployment", "duration": 0.073},
			map[string]any{"name": "reconcile ReplicaSet", "duration": 0.04},
			map[string]any{"name": "sandbox", "duration": 0.21},
			map[string]any{"name": "pull image nginx:1.27", "duration": 2.93},
			map[string]any{"name": "start container", "duration": 0.047},
			map[string]any{"name": "readiness", "duration": 0.873},
		},
		"spans": 10.0,
		"asOf":  "2026-03-01T12:01:00Z",
	}
	if diff := cmp.Diff([]map[string]any{want}, got.Traces); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSummaryComesBack(t *testing.T) {
	sum := store.Summarize(spantest.Rollout(), asOf)
	sum.Object = object.Ref{
		Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "n",
		Name:      "web",
		UID:       "u",
	}
	want := SummaryOf(&sum)
	wire, err := marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Summary
	if err := json.Unmarshal(wire, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhy(t *testing.T) {
	s := start(t, Options{})
	at := "/api/v1/traces/" + spantest.Unschedulable().ID.String() + "/why"
	for query, want := range map[string]string{
		"":                          "The change has been stuck for ",
		"?kind=Pod&name=web-6cf-x7": "Pod default/web-6cf-x7 has been stuck for ",
		"?kind=Pod&namespace=default&name=web-6cf-x7": "Pod web-6cf-x7 has been stuck for ",
	} {
		var got Why
		s.into(t, at+query, &got)
		if !strings.HasPrefix(got.Text, want) || got.State != answer.Stuck || got.Cause.TraceID == "" {
			t.Errorf("%q: got %+v, want %q", query, got, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/traces/" + strings.Repeat("0", 31) + "1/why": "there is no such trace",
		at + "?kind=Nope&name=x":                              "the trace has no Nope x",
		at + "?kind=Pod&name=web-6cf-x7&group=apps":           "the trace has no Pod web-6cf-x7 of the group apps",
		at + "?namespace=a&name=b":                            "the trace has no object a/b",
	} {
		res, body := s.get(t, path)
		if res.StatusCode != http.StatusNotFound || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s, want 404 %q", path, res.StatusCode, body, want)
		}
	}
	var got Why
	s.into(t, at+"?kind=ReplicaSet&name=web-6cf", &got)
	if got.Object.Kind.Kind != "ReplicaSet" || got.Object.Group != "apps" {
		t.Errorf("without its group, the ReplicaSet is %+v", got.Object)
	}
}

// TestAges: the sentences about a finished trace have the ages of the present time, and its data their own.
func TestAges(t *testing.T) {
	now := asOf
	s := start(t, Options{Clock: func() time.Time { return now }})
	at := "/api/v1/traces/" + spantest.Apply().ID.String()
	read := func() (out [2]Why) {
		var tree Tree
		s.into(t, at+"/why", &out[0])
		s.into(t, at+"/tree", &tree)
		out[1] = *tree.Why
		return out
	}
	before := read()
	now = now.Add(50 * time.Hour)
	for i, got := range read() {
		if !got.AsOf.Equal(before[i].AsOf) || got.Text == before[i].Text || !strings.Contains(got.Text, "2d") {
			t.Errorf("after two days: %s %q, before %s %q", got.AsOf, got.Text, before[i].AsOf, before[i].Text)
		}
	}
}

func TestCausesAndWrites(t *testing.T) {
	s := start(t, Options{})
	var causes Causes
	s.into(t, "/api/v1/traces/"+spantest.Healing()[1].ID.String()+"/causes", &causes)
	if len(causes.Causes) == 0 || causes.Causes[0].TraceID == "" {
		t.Errorf("got %+v", causes)
	}
	s.into(t, "/api/v1/traces/"+strings.Repeat("1", 32)+"/causes", &causes)
	var writes WritePage
	s.into(t, "/api/v1/writes?kind=Deployment&actor=kubectl&limit=1", &writes)
	if len(writes.Writes) != 1 || writes.Writes[0].Object.Kind.Kind != "Deployment" || writes.Next == "" {
		t.Errorf("got %+v", writes)
	}
}

func TestInfo(t *testing.T) {
	s := start(t, Options{Info: func() Info {
		return Info{Version: "v1", Cluster: "c", AsOf: asOf, Identity: "pod-1", Mode: "standby", Leading: true}
	}})
	var got Info
	s.into(t, "/api/v1/info", &got)
	if got.Stats.Traces != 7 || got.Stats.Open != 1 || got.Stats.Oldest == nil || got.Stats.Bytes == 0 {
		t.Errorf("got stats %+v", got.Stats)
	}
	got.Stats = Stats{}
	want := Info{Version: "v1", Cluster: "c", AsOf: asOf, Identity: "pod-1", Mode: "standby", Leading: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	var err error
	s := start(t, Options{Access: all(&faulty{stats: func(context.Context) (store.Stats, error) {
		if err == nil {
			panic("nil map")
		}
		return store.Stats{}, err
	}})})
	cases := map[string]struct {
		reason string
		err    error
		code   int
		text   string
	}{
		"disk": {
			"the path of the store is internal",
			errors.New("cannot read /var/secret: I/O error"),
			500,
			"the store cannot be read",
		},
		"closed":  {"it will be back", store.ErrClosed, 503, "stopping"},
		"slow":    {"the request is too large", context.DeadlineExceeded, 504, "within 30s"},
		"panic":   {"the server survives", nil, 500, "met a bug"},
		"panic 2": {"and again", nil, 500, "met a bug"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			err = tc.err
			res, got := s.get(t, "/api/v1/info")
			if res.StatusCode != tc.code || !strings.Contains(string(got), tc.text) ||
				strings.Contains(string(got), "secret") {
				t.Errorf("got %d %s", res.StatusCode, got)
			}
			if after := res.Header.Get("Retry-After"); (after != "") != (tc.code == http.StatusServiceUnavailable) {
				t.Errorf("Retry-After of %d is %q", res.StatusCode, after)
			}
		})
	}
	if n := s.counts.panics.Load(); n != 2 {
		t.Errorf("counted %d panics", n)
	}
}

// TestTooManyRequests: concurrent requests up to the limit, and no more.
func TestTooManyRequests(t *testing.T) {
	began, leave := make(chan struct{}), make(chan struct{})
	s := start(t, Options{MaxRequests: 1, Access: all(&faulty{stats: func(ctx context.Context) (store.Stats, error) {
		began <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return store.Stats{}, ctx.Err()
	}})})
	first := make(chan int)
	go func() {
		res, _ := s.get(t, "/api/v1/info")
		first <- res.StatusCode
	}()
	<-began
	res, got := s.get(t, "/api/v1/info")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(got), "at its limit of 1 requests") {
		t.Errorf("got %d %s", res.StatusCode, got)
	}
	close(leave)
	if code := <-first; code != 200 {
		t.Errorf("the first got %d", code)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]string{
		"/api/v1/info": "/api/v1/info OK",
		"/api/v1/traces/" + strings.Repeat("1", 32): "/api/v1/traces/{traceID} Not Found",
		"/evil/" + strings.Repeat("x", 100):         "/ Not Found",
	} {
		s.get(t, path)
		if got := <-s.counts.codes; got != want {
			t.Errorf("%s: counted %q, want %q", path, got, want)
		}
	}
}

// TestOtherListeners: a name is harmless on a listener that everyone may use.
func TestOtherListeners(t *testing.T) {
	s, err := New(Options{Access: filled(t).Access})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "http://lifeline.monitoring.svc/api/v1/info", nil)
	s.ServeHTTP(rec, req)
	if rec.Code != 200 {
		t.Errorf("status %d: %s", rec.Code, rec.Body)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{"no store": {}, "negative": {Access: filled(t).Access, MaxStreams: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSources(t *testing.T) {
	s := start(t, Options{Sources: func() Sources {
		return Sources{
			Receives: Receives{
				GRPC: "127.0.0.1:4317",
			},
			Configuration: json.RawMessage(`{"kind":"ServerConfiguration"}`),
			Received: received.Summary{
				Window:     900,
				Components: []received.Component{{Name: received.Kubelet, Spans: 3}},
			},
		}
	}})
	_, body := s.get(t, "/api/v1/sources")
	for _, want := range []string{
		`"receives":{"grpc":"127.0.0.1:4317"}`,
		`"windowSeconds":900`,
		`"name":"kubelet","spans":3`,
		`"configuration":{"kind":"ServerConfiguration"}`,
	} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("the answer lacks %s:\n%s", want, body)
		}
	}
	if bytes.Contains(body, []byte(`"joining"`)) {
		t.Errorf("without receivers, the answer has a joining:\n%s", body)
	}
	if res, _ := s.get(t, "/api/v1/sources?since=1h"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a parameter that it has not: status %d", res.StatusCode)
	}
	if res, _ := start(t, Options{}).get(t, "/api/v1/sources"); res.StatusCode != http.StatusNotFound {
		t.Errorf("a server without sources: status %d", res.StatusCode)
	}
}

// TestUnavailable: without the archive, lists have what is in memory and say why they may lack
// traces. A trace in the archive is not reported as missing.
func TestUnavailable(t *testing.T) {
	v := viewtest.New(t)
	s := start(t, Options{Access: v.Access})
	res, got := s.get(t, "/api/v1/traces")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(got), "has just started") {
		t.Errorf("before the first look: %d %s", res.StatusCode, got)
	}
	open, finished := spantest.Unschedulable(), spantest.Apply()
	v.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{open}, Finished: []*span.Trace{finished}})
	for _, why := range []string{"it is being opened", strings.Repeat("x", 9000)} {
		v.Fail(errors.New(why))
		var page Page
		s.into(t, "/api/v1/traces", &page)
		var writes WritePage
		s.into(t, "/api/v1/writes", &writes)
		for _, incomplete := range []string{page.Incomplete, writes.Incomplete} {
			want := "the archive is unavailable: " + why[:10]
			if !strings.HasPrefix(incomplete, want) || len(incomplete) > 2000 {
				t.Errorf("incomplete is %.100q, want %q", incomplete, want)
			}
		}
		if len(page.Traces) != 1 || !page.Traces[0].Open {
			t.Errorf("got %+v", page.Traces)
		}
	}
	for id, want := range map[string]int{
		open.ID.String():        http.StatusOK,
		open.ID.String()[:9]:    http.StatusOK,
		finished.ID.String():    http.StatusServiceUnavailable,
		strings.Repeat("1", 32): http.StatusServiceUnavailable,
		"11111111":              http.StatusServiceUnavailable,
	} {
		res, got := s.get(t, "/api/v1/traces/"+id)
		if res.StatusCode != want {
			t.Errorf("trace %s: %d %s, want %d", id, res.StatusCode, got, want)
		}
	}
	v.Fail(nil)
	_, got = s.get(t, "/api/v1/traces")
	if strings.Contains(string(got), "incomplete") {
		t.Errorf("with the archive: %s", got)
	}
}

// TestOthers: another API checks the method itself. All the rest is as for this one.
func TestOthers(t *testing.T) {
	s := start(t, Options{Others: map[string]http.Handler{
		"/api/other/{id}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, r.Method+" "+r.PathValue("id"))
		}),
	}})
	post := func(r *http.Request) { r.Method = http.MethodPost }
	if res, body := s.get(t, "/api/other/1", post); res.StatusCode != http.StatusTeapot || string(body) != "POST 1" ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	if got := <-s.counts.codes; got != "/api/other/{id} I'm a teapot" {
		t.Errorf("counted as %q", got)
	}
	if res, _ := s.get(t, "/api/other", post); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a path of no API: status %d, want 405", res.StatusCode)
	}
	evil := func(r *http.Request) { r.Host = "evil.example" }
	if res, _ := s.get(t, "/api/other/1", evil); res.StatusCode != http.StatusForbidden {
		t.Errorf("another host: status %d, want 403", res.StatusCode)
	}
}

// TestWhyNoNodeFits: the answer has the scheduler's reasons, and the change that cordoned a node. The
// answer of the tree has the reasons.
func TestWhyNoNodeFits(t *testing.T) {
	v := viewtest.New(t)
	rejected, cordon := spantest.Rejected(), spantest.Cordon("node-8", 100)
	v.Put(t, asOf, viewtest.Traces{
		Finished: []*span.Trace{
			cordon, spantest.Cordon("node-9", 5000), spantest.Cordon("node-1", 100),
		},
		Open: []*span.Trace{rejected},
	})
	s := start(t, Options{Access: v.Access})
	const reason = "Pod web-6cf-x7 cannot be scheduled: no node of 10 fits: 6 lack memory (NodeResourcesFit), " +
		"4 are cordoned (NodeUnschedulable)"
	at := "/api/v1/traces/" + rejected.ID.String()
	for query, want := range map[string]string{
		"?group=apps&kind=Deployment&name=web": "Deployment default/web has been stuck for ",
		"?kind=Pod&name=web-6cf-x7":            "Pod default/web-6cf-x7 has been stuck for ",
	} {
		var got Why
		s.into(t, at+"/why"+query, &got)
		if got.Reason != reason || !strings.HasPrefix(got.Text, want) || !got.AsOf.Equal(asOf) {
			t.Errorf("%q: got %+v, want %q", query, got, want)
		}
		if len(got.Nodes) != 1 || got.Nodes[0].Node != "node-8" || got.Nodes[0].Cause.Who != "alice" ||
			!strings.Contains(got.Text, "\nNode node-8 was cordoned: alice changed Node node-8 (unschedulable ") {
			t.Errorf("%q: got nodes %+v in %q; only the cordon of node-8 was before the attempt", query, got.Nodes,
				got.Text)
		}
	}
	var tree Tree
	s.into(t, at+"/tree", &tree)
	if tree.Why == nil || tree.Why.Reason != reason || tree.Why.Attempt == nil {
		t.Errorf("got %+v in the tree", tree.Why)
	}
	for _, one := range rejected.Spans {
		var detail SpanDetail
		s.into(t, at+"/spans/"+one.ID.String(), &detail)
		want := ""
		if one.Name == "reconcile Pod" || one.Name == span.NameSchedule {
			want = "No node of 10 fits: 6 lack memory (NodeResourcesFit), 4 are cordoned (NodeUnschedulable). " +
				"Examples: node-1, node-2 (lack memory); node-7, node-8, node-9 (are cordoned)."
		}
		if detail.Scheduling != want {
			t.Errorf("%s: got %q, want %q", one.Name, detail.Scheduling, want)
		}
		var nodes []string
		for _, n := range detail.Nodes {
			nodes = append(nodes, n.Text+" by "+n.Cause.TraceID)
		}
		if wanted := []string{
			"Node node-8 was cordoned by " + cordon.ID.String(),
		}; (want != "") != slices.Equal(nodes, wanted) {
			t.Errorf("%s: got the changes of nodes %q, want %q", one.Name, nodes, wanted)
		}
	}
	v.Fail(errors.New("test"))
	var got Why
	s.into(t, at+"/why", &got)
	if got.Reason != reason || len(got.Nodes) != 0 {
		t.Errorf("without an archive: got %+v", got)
	}
}

// TestWhyRemoved: the answer about a removed object has how it had ended, by an older trace.
func TestWhyRemoved(t *testing.T) {
	v := viewtest.New(t)
	healing := spantest.Healing()
	before := spantest.Apply()
	v.Put(t, asOf, viewtest.Traces{Finished: append(healing, before)})
	s := start(t, Options{Access: v.Access})
	var got Why
	s.into(t, "/api/v1/traces/"+healing[0].ID.String()+"/why?kind=Pod&name="+healing[0].Root().Object.Name, &got)
	if got.State != "deleted" || got.Ended == nil || got.Ended.TraceID != before.ID.String() {
		t.Errorf("got %+v, ended %+v; want the end in the trace %s", got.Answer, got.Ended, before.ID)
	}
}
