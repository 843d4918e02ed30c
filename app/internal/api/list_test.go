// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

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
