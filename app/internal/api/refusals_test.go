// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
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

// barred is an error of Options.Access.
type barred struct {
	status int
	text   string
}

func (r barred) Error() string { return r.text }
func (r barred) Status() int   { return r.status }

// TestRefusedAccess: every path with data, and every stream, answers with the refusal of its access. What
// is the same for all servers needs none.
func TestRefusedAccess(t *testing.T) {
	var refusal error
	s := start(t, Options{
		Sources: func() Sources { return Sources{} },
		Runs:    http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a command was announced") }),
		Access:  func(*http.Request) (store.Access, error) { return store.Access{}, refusal },
	})
	paths := []string{"watch", "problems/stream", "runs"}
	for _, to := range routes {
		path := strings.ReplaceAll(to.path, "{traceID}", strings.Repeat("1", 32))
		paths = append(paths, strings.ReplaceAll(path, "{spanID}", "1"))
	}
	for _, want := range []barred{
		{http.StatusUnauthorized, "send a token"},
		{http.StatusForbidden, "ana may not list changes"},
		{http.StatusServiceUnavailable, "the API server does not answer"},
	} {
		refusal = fmt.Errorf("wrapped: %w", want)
		for _, path := range paths {
			res, body := s.get(t, prefix+path)
			if res.StatusCode != want.status || !strings.Contains(string(body), `"message":"`+want.text+`"`) {
				t.Errorf("%s: got %d %s, want %d and %q", path, res.StatusCode, body, want.status, want.text)
			}
		}
		for path, code := range map[string]int{"openapi.json": 200, "nothing": 404} {
			if res, body := s.get(t, prefix+path); res.StatusCode != code {
				t.Errorf("%s: got %d %s, want %d", path, res.StatusCode, body, code)
			}
		}
	}
}

// TestRunsRefused: an announcement of a sender without an access does not arrive.
func TestRunsRefused(t *testing.T) {
	arrived := 0
	s := start(t, Options{
		Access: func(r *http.Request) (store.Access, error) {
			if r.Header.Get("User") == "all" {
				return store.NewGate(nil, store.Whole).For(store.Scope{}), nil
			}
			return store.Access{}, problem(http.StatusForbidden, "you may not announce commands")
		},
		Runs: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived++ }),
	})
	for user, want := range map[string]int{"nobody": http.StatusForbidden, "all": http.StatusOK} {
		res, body := s.get(t, runsPath, asUser(user), func(r *http.Request) { r.Method = http.MethodPost })
		if res.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", user, res.StatusCode, want, body)
		}
	}
	if arrived != 1 {
		t.Errorf("%d announcements arrived, want that of the permitted sender", arrived)
	}
}
