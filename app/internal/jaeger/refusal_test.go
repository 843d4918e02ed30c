// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// refusal checks the status and the text of an error, in the form of its path.
func refusal(t *testing.T, path string, res *http.Response, body []byte, code int, text string) {
	t.Helper()
	var message string
	if strings.HasPrefix(path, "/api/v3/") {
		var got struct {
			Error struct {
				HTTPCode int    `json:"httpCode"`
				Message  string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(body, &got); err != nil || got.Error.HTTPCode != res.StatusCode {
			t.Errorf("%s: status %d, %v: %s", path, res.StatusCode, err, body)
		}
		message = got.Error.Message
	} else {
		var got struct {
			Data   any         `json:"data"`
			Errors []pageError `json:"errors"`
		}
		err := json.Unmarshal(body, &got)
		if err != nil || got.Data != nil || len(got.Errors) != 1 || got.Errors[0].Code != res.StatusCode {
			t.Fatalf("%s: status %d, %v: %s", path, res.StatusCode, err, body)
		}
		message = got.Errors[0].Message
	}
	if res.StatusCode != code || !strings.Contains(message, text) ||
		res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: status %d %q, want %d with %q", path, res.StatusCode, message, code, text)
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, &memory{traces: []*span.Trace{spantest.Apply()}})
	v3 := func(more ...string) string { return "/api/v3/traces" + v3Query("kubelet", more...) }
	page := func(more string) string { return "/api/traces?service=kubelet&" + more }
	many := strings.Repeat("&traceID=1", MaxTraces+1)
	cases := map[string]struct {
		path string
		code int
		text string
	}{
		"unknown trace": {"/api/v3/traces/ff", 404, "No traces found"},
		"no ID":         {"/api/v3/traces/xyz", 400, `malformed parameter trace_id: "xyz" is no trace ID`},
		"long ID":       {"/api/v3/traces/" + strings.Repeat("a", 33), 400, "malformed parameter trace_id"},
		"hint": {
			"/api/v3/traces/ff?startTime=1",
			400,
			`malformed parameter startTime: "1" is no time`,
		},
		"old hint":            {"/api/v3/traces/ff?end_time=1", 400, "malformed parameter end_time"},
		"raw":                 {"/api/v3/traces/ff?raw_traces=maybe", 400, "malformed parameter raw_traces"},
		"nothing found":       {"/api/v3/traces" + v3Query("nothing"), 404, "No traces found"},
		"no times":            {"/api/v3/traces", 400, "query.startTimeMin and query.startTimeMax are required"},
		"no times, summaries": {"/api/v3/trace-summaries", 400, "are required"},
		"no time":             {v3("query.startTimeMin", "now"), 400, "malformed parameter query.startTimeMin"},
		"times": {
			v3("query.startTimeMin", "2026-03-01T14:00:00Z"),
			400,
			"query.startTimeMin must be before",
		},
		"depth": {
			v3("query.searchDepth", "0"),
			400,
			`malformed parameter query.searchDepth: "0" is no number from 1 to 1500`,
		},
		"large depth": {v3("query.searchDepth", "1501"), 400, "from 1 to 1500"},
		"old depth":   {v3("query.num_traces", "x"), 400, "malformed parameter query.num_traces"},
		"duration":    {v3("query.durationMin", "5"), 400, "malformed parameter query.durationMin"},
		"negative":    {v3("query.durationMax", "-5s"), 400, "malformed parameter query.durationMax"},
		"durations": {
			v3("query.durationMin", "2s", "query.durationMax", "1s"),
			400,
			"'query.durationMax' should be greater than",
		},
		"attributes":          {v3("query.attributes", `{"a":1}`), 400, "malformed parameter query.attributes"},
		"filter":              {v3("query.filter", `{}`), 400, "query.filter is not supported"},
		"unread query":        {"/api/v3/services?a;b", 400, "the parameters cannot be read"},
		"operations":          {"/api/v3/operations", 400, "parameter 'service' is required"},
		"page: unknown trace": {"/api/traces/ff", 404, "trace not found"},
		"page: no ID":         {"/api/traces/xyz", 400, `"xyz" is no trace ID`},
		"page: hint":          {"/api/traces/ff?start=today", 400, "unable to parse param 'start'"},
		"page: raw":           {"/api/traces/ff?raw=maybe", 400, "unable to parse param 'raw'"},
		"page: no service":    {"/api/traces", 400, "parameter 'service' is required"},
		"page: time":          {page("end=2026-03-01"), 400, "unable to parse param 'end'"},
		"page: times":         {page("start=2&end=1"), 400, "start must be before end"},
		"page: limit":         {page("limit=many"), 400, "unable to parse param 'limit'"},
		"page: large limit":   {page("limit=1501"), 400, "from 1 to 1500"},
		"page: duration":      {page("minDuration=1"), 400, "unable to parse param 'minDuration'"},
		"page: durations": {
			page("minDuration=2s&maxDuration=1s"),
			400,
			"'maxDuration' should be greater than 'minDuration'",
		},
		"page: tag":             {page("tag=a"), 400, "unable to parse param 'tag'"},
		"page: tags":            {page("tags=a=b"), 400, "unable to parse param 'tags'"},
		"page: IDs":             {"/api/traces?traceID=1&traceID=x", 400, "unable to parse param 'traceID'"},
		"page: many IDs":        {"/api/traces?" + many[1:], 400, "more than 1500"},
		"page: operations":      {"/api/operations", 400, "parameter 'service' is required"},
		"page: services, other": {"/api/services/kubelet", 404, "/api/services/{service}/operations"},
		"page: dependencies":    {"/api/dependencies?endTs=now", 400, "unable to parse param 'endTs'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, body := s.get(t, s.url+tc.path)
			refusal(t, tc.path, res, body, tc.code, tc.text)
		})
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		for _, path := range []string{"/api/v3/traces", "/api/v3/services", "/api/traces", "/api/traces/ff"} {
			req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, body := s.do(t, req)
			refusal(t, path, res, body, 405, "use GET")
			if res.Header.Get("Allow") != "GET" {
				t.Errorf("%s %s: Allow: %q", method, path, res.Header.Get("Allow"))
			}
		}
	}
	req, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodGet,
		s.url+"/api/services",
		io.NopCloser(strings.NewReader("x")),
	)
	if err != nil {
		t.Fatal(err)
	}
	res, body := s.do(t, req)
	refusal(t, "/api/services", res, body, 413, "body")
}

// TestUnknownParameters: clients send parameters that no Jaeger reads.
func TestUnknownParameters(t *testing.T) {
	s := start(t, &memory{traces: []*span.Trace{spantest.Apply()}})
	for _, path := range []string{
		"/api/traces?service=kubelet&lookback=custom&start=0&tags=", "/api/services?x=1", "/api/v3/services?x=1",
		"/api/traces/" + spantest.Apply().ID.String() + "?prettyPrint=true",
	} {
		if res, body := s.get(t, s.url+path); res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, res.StatusCode, body)
		}
	}
}

func TestFailures(t *testing.T) {
	from := &memory{traces: []*span.Trace{spantest.Apply()}}
	s := start(t, from)
	for name, tc := range map[string]struct {
		failure error
		code    int
		text    string
	}{
		"unavailable": {fmt.Errorf("%w: for a test", store.ErrUnavailable), 503, "for a test"},
		"busy":        {store.ErrBusy, 503, "too many"},
		"late":        {fmt.Errorf("x: %w", context.DeadlineExceeded), 503, "within its time"},
		"closed":      {store.ErrClosed, 503, "stopping"},
		"bug":         {errors.New("secret detail"), 500, "see the server's log"},
	} {
		t.Run(name, func(t *testing.T) {
			from.failure = tc.failure
			for _, path := range []string{
				"/api/v3/services", "/api/v3/operations?service=a", "/api/v3/traces" + v3Query(""), "/api/v3/traces/ff",
				"/api/v3/trace-summaries" + v3Query(""), "/api/services", "/api/services/a/operations",
				"/api/traces/ff",
				"/api/traces?service=a", "/api/traces?traceID=ff",
			} {
				res, body := s.get(t, s.url+path)
				refusal(t, path, res, body, tc.code, tc.text)
				if retry := res.Header.Get("Retry-After") != ""; retry != (tc.code == 503) {
					t.Errorf("%s: Retry-After %q", path, res.Header.Get("Retry-After"))
				}
			}
		})
	}
}

// TestTooLarge: a search without place for all traces says so.
func TestTooLarge(t *testing.T) {
	small, large := spantest.New("small"), spantest.New("large")
	small.ReplicaSet(nil, 0, 10)
	for i := range 5 {
		large.ReplicaSet(nil, i, 10)
	}
	s := start(t, &memory{traces: []*span.Trace{small.Trace, large.Trace}})
	s.maxSpans = 4
	var got struct {
		grafanaTraces
		Errors []pageError `json:"errors"`
	}
	s.strict(t, "/api/traces?service=replicaset-controller&start=0", &got)
	if len(got.Data) != 1 || got.Data[0].TraceID != small.Trace.ID.String() || len(got.Errors) != 1 ||
		got.Errors[0].TraceID != large.Trace.ID.String() || !strings.Contains(got.Errors[0].Message, "5 spans") {
		t.Errorf("got %+v with %+v, want the small trace, and an error for the large one", got.Data, got.Errors)
	}
	path := "/api/v3/traces" + v3Query("")
	res, body := s.get(t, s.url+path)
	refusal(t, path, res, body, 400, "1 of 2 traces would exceed the 4 spans of an answer")
	var all struct {
		Summaries []summary `json:"summaries"`
	}
	if s.strict(t, "/api/v3/trace-summaries"+v3Query(""), &all); len(all.Summaries) != 2 {
		t.Errorf("%d summaries, want 2: they have no bound of spans", len(all.Summaries))
	}
}

// TestByID: the traces with given IDs, and an error for each unknown one.
func TestByID(t *testing.T) {
	s := start(t, &memory{traces: []*span.Trace{spantest.Apply()}})
	var got struct {
		grafanaTraces
		Errors []pageError `json:"errors"`
	}
	s.strict(t, "/api/traces?traceID=ff&traceID="+spantest.Apply().ID.String(), &got)
	if len(got.Data) != 1 || len(got.Errors) != 1 || got.Errors[0].Message != "trace not found" ||
		got.Errors[0].TraceID != strings.Repeat("0", 30)+"ff" {
		t.Errorf("got %+v with %+v", got.Data, got.Errors)
	}
}

// TestSearchesAtOnce: only some searches run at the same time, and the others get their turn.
func TestSearchesAtOnce(t *testing.T) {
	n := 3 * maxSearches
	running, ended := make(chan struct{}, n), make(chan struct{})
	s := start(t, &memory{traces: []*span.Trace{spantest.Apply()}, searching: func(ctx context.Context) {
		running <- struct{}{}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}})
	codes := make(chan int, n)
	for range n {
		go func() {
			res, err := s.client.Get(s.url + "/api/traces?start=0&service=kubelet")
			if err != nil {
				codes <- 0
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			codes <- res.StatusCode
		}()
	}
	for range maxSearches {
		<-running
	}
	if got := len(s.searches); got != maxSearches {
		t.Errorf("%d searches run, want %d", got, maxSearches)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more begins: %v", err)
	}
	close(ended)
	for range n {
		if code := <-codes; code != 200 {
			t.Errorf("status %d", code)
		}
	}
}

// FuzzSearch: a query is within its limits, or has an error with a status.
func FuzzSearch(f *testing.F) {
	f.Add(v3Query("kubelet", "query.attributes", `{"a":"b"}`)[1:])
	f.Add("service=a&tag=a:b&tags={}&start=-9223372036854775808&end=9223372036854775807&limit=3&minDuration=1h")
	f.Add("traceID=AAAAAAAAAAAAAAAAAACrzQ%3D%3D&query.startTimeMin=2026-03-01T12:00:00 02:00&query.num_traces=+1")
	f.Fuzz(func(t *testing.T, query string) {
		given, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		check := func(q store.SpanQuery, err error) {
			var p *problem
			switch {
			case err != nil && (!errors.As(err, &p) || p.code != 400 || p.message == ""):
				t.Errorf("%q: %v", query, err)
			case err != nil:
			case q.Limit < 1 || q.Limit > MaxTraces || q.Longer < 0 || q.Shorter < 0 || q.Attributes == nil:
				t.Errorf("%q: %+v", query, q)
			}
		}
		q, err := searchV3(given)
		if check(q, err); err == nil && !q.Since.Before(q.Until) {
			t.Errorf("%q: from %s to %s", query, q.Since, q.Until)
		}
		q, ids, err := searchPage(given, asOf)
		if check(q, err); err == nil && (len(ids) == 0) == (q.Service == "") && len(ids) == 0 {
			t.Errorf("%q: neither a service nor IDs", query)
		}
	})
}
