// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// asked is the query of a question.
func asked(where string, further ...string) string {
	v := url.Values{"where": {where}}
	for i := 0; i < len(further); i += 2 {
		v.Add(further[i], further[i+1])
	}
	return "?" + v.Encode()
}

func TestLifecycles(t *testing.T) {
	s := start(t, Options{})
	var all []string
	var page LifecyclePage
	for after := ""; ; after = page.Next {
		page = LifecyclePage{}
		s.into(t, "/api/v1/lifecycles"+asked(
			`kind == "Pod" && phase.pull > duration("1s")`, "limit", "1", "after", after), &page)
		for _, l := range page.Lifecycles {
			all = append(all, fmt.Sprintf("%s %s open=%t pull=%t", l.Object, l.Outcome, l.Open, l.Phases["pull"] > 0))
		}
		if len(page.Lifecycles) != 1 {
			t.Fatalf("a page of %d", len(page.Lifecycles))
		}
		if page.Next == "" {
			break
		}
	}
	if len(all) < 2 || all[len(all)-1] != "Pod default/web-6cf-k2 converged open=false pull=true" {
		t.Errorf("got %s", strings.Join(all, "\n"))
	}
	if d := cmp.Diff([]string{"kind", "phase.pull"}, page.Uses); d != "" {
		t.Errorf("uses: %s", d)
	}
	if want := asOf.Add(-store.DefaultRange); page.Since == nil || !page.Since.Equal(want) {
		t.Errorf("since %v, want %s", page.Since, want)
	}
	page = LifecyclePage{}
	s.into(t, "/api/v1/lifecycles"+asked(`outcome == ""`), &page)
	if len(page.Lifecycles) == 0 || !page.Lifecycles[0].Open {
		t.Errorf("open lifecycles: %+v", page.Lifecycles)
	}
	for query, want := range map[string]bool{
		asked(`kind == "Pod"`, "until", "1m"): false, asked(`start < now`): false, "": true,
		"?since=30d": true, "?until=1m": false,
		asked(`kind == "Pod"`, "since", "1h"): true,
	} {
		page = LifecyclePage{}
		s.into(t, "/api/v1/lifecycles"+query, &page)
		if (page.Since != nil) != want {
			t.Errorf("%s: since %v", query, page.Since)
		}
	}
}

// TestTracesWhere lists one row for each trace, which the other filters select, too.
func TestTracesWhere(t *testing.T) {
	s := start(t, Options{})
	ids := func(query string) (out []string) {
		for after := ""; ; {
			var page Page
			s.into(t, "/api/v1/traces"+query+"&limit=2&after="+after, &page)
			if len(page.Traces) > 2 || page.Since == nil {
				t.Fatalf("%s: %d traces since %v", query, len(page.Traces), page.Since)
			}
			for i := range page.Traces {
				out = append(out, page.Traces[i].TraceID+" "+page.Traces[i].Name)
			}
			if after = page.Next; after == "" {
				return out
			}
		}
	}
	pods := ids(asked(`kind == "Pod"`))
	if len(pods) < 4 {
		t.Errorf("traces with Pods: %q", pods)
	}
	if got := ids(asked(`kind == "Pod"`, "name", "web", "kind", "StatefulSet")); len(got) != 0 {
		t.Errorf("traces of another kind: %q", got)
	}
	if got := ids(asked(`kind == "Nothing"`)); len(got) != 0 {
		t.Errorf("no traces: %q", got)
	}
}

// TestOpenWhere: the start of an open trace has no bound of its own.
func TestOpenWhere(t *testing.T) {
	s := start(t, Options{Clock: func() time.Time { return asOf.Add(30 * 24 * time.Hour) }})
	for query, want := range map[string]int{
		asked(`kind == "Pod"`):                                0, // the last seven days
		asked(`kind == "Pod"`, "open", "true"):                1,
		asked(`kind == "Pod"`, "open", "true", "since", "1h"): 0,
		asked(`kind == "Secret"`, "open", "true"):             0,
	} {
		var page Page
		s.into(t, "/api/v1/traces"+query, &page)
		if len(page.Traces) != want || want > 0 && !page.Traces[0].Open {
			t.Errorf("%s: %d traces, want %d", query, len(page.Traces), want)
		}
	}
}

func TestGroups(t *testing.T) {
	s := start(t, Options{})
	var page GroupPage
	s.into(t, "/api/v1/groups"+asked(`kind == "Pod"`, "by", "outcome", "of", "phase.pull", "quantiles", "0.5,1"), &page)
	if len(page.Groups) == 0 || page.Of != "phase.pull" || page.By != "outcome" {
		t.Fatalf("%+v", page)
	}
	for _, g := range page.Groups {
		if g.Value == "" || g.With > g.Count || (g.With > 0) != (len(g.Quantiles) == 2) {
			t.Errorf("group %+v", g)
		}
	}
	const steps = "ended.readiness - began.pull"
	page = GroupPage{}
	s.into(t, "/api/v1/groups"+asked(`kind == "Pod"`, "of", steps, "quantiles", "0.5"), &page)
	if len(page.Groups) != 1 || page.Of != steps || page.Groups[0].With == 0 ||
		page.Groups[0].With == page.Groups[0].Count || page.Groups[0].Quantiles[0] <= 0 {
		t.Errorf("between two steps: %+v", page)
	}
	page = GroupPage{}
	s.into(t, "/api/v1/groups?by=day&quantiles=0.5&tz=Pacific/Kiritimati", &page)
	if len(page.Groups) != 1 || page.Groups[0].Value != "2026-03-02" || page.Of != "duration" {
		t.Errorf("a day that begins 14 hours before that of UTC: %+v", page)
	}
}

// TestGroupKeys: several keys have a value each in every group, and a list is named.
func TestGroupKeys(t *testing.T) {
	s := start(t, Options{})
	var page GroupPage
	s.into(t, "/api/v1/groups"+asked(`kind != ""`, "by", "kind", "by", "image", "sort", "count"), &page)
	if page.By != "kind" || !slices.Equal(page.Keys, []string{"kind", "image"}) ||
		!slices.Equal(page.Lists, []string{"image"}) || len(page.Groups) < 2 {
		t.Fatalf("%+v", page)
	}
	for i, g := range page.Groups {
		if len(g.Values) != 2 || g.Values[0] != g.Value || i > 0 && g.Count > page.Groups[i-1].Count {
			t.Errorf("group %+v", g)
		}
	}
}

// TestSorted: the order is that of all lifecycles, over pages, too.
func TestSorted(t *testing.T) {
	s := start(t, Options{})
	var all, one LifecyclePage
	s.into(t, "/api/v1/lifecycles"+asked(`kind != ""`, "sort", "phase.pull"), &all)
	if all.Sort != "phase.pull" || all.SortType != "duration" || len(all.Lifecycles) < 3 {
		t.Fatalf("%+v", all)
	}
	for i, l := range all.Lifecycles {
		length, has := l.Phases["pull"]
		if has != (l.SortValue != nil) || has && time.Duration(length).Seconds() != *l.SortValue ||
			i > 0 && has && *l.SortValue > *all.Lifecycles[i-1].SortValue {
			t.Errorf("lifecycle %d: %+v", i, l)
		}
	}
	s.into(t, "/api/v1/lifecycles"+asked(`kind != ""`, "sort", "phase.pull", "limit", "1"), &one)
	s.into(t, "/api/v1/lifecycles"+asked(`kind != ""`, "sort", "phase.pull", "limit", "1", "after", one.Next), &one)
	if one.Lifecycles[0].SpanID != all.Lifecycles[1].SpanID {
		t.Errorf("the second page begins with %+v", one.Lifecycles[0])
	}
}

func TestFields(t *testing.T) {
	var got Fields
	start(t, Options{}).into(t, "/api/v1/fields", &got)
	values := map[string]int{}
	for _, f := range got.Fields {
		values[f.Name] = len(f.Values)
		if f.Type == "" || f.Meaning == "" {
			t.Errorf("field %+v", f)
		}
	}
	_, began := values["began.pull"]
	_, end := values["end"]
	if _, is := values["phase.startup"]; !is || !began || !end || values["outcome"] != len(span.Outcomes) ||
		values["reason"] < 20 || values["name"] != 0 {
		t.Errorf("values: %v", values)
	}
}

// TestQuestionErrors: the answer for a wrong question has the place and a way out, in fields of their
// own.
func TestQuestionErrors(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]string{
		"lifecycles" + asked(`phase.startup > 30`): `{"error":{"code":400,` +
			`"message":"cannot compare duration with int",` +
			`"parameter":"where","line":1,"column":17,"hint":"a length of time is written duration(\"30s\")"}}`,
		"traces" + asked("kind == \"Pod\" &&\nknd == \"x\""): `{"error":{"code":400,"message":"unknown field knd",` +
			`"parameter":"where","line":2,"column":1,"hint":"did you mean kind?"}}`,
		"groups" + asked(`kind = "Pod"`): `"unexpected =","parameter":"where","line":1,"column":6,` +
			`"hint":"to compare, write =="}}`,
		"lifecycles" + asked(``): `"the question is empty","parameter":"where","line":1,"column":1,"hint":"write`,
		"groups?by=knd": `"unknown field knd","parameter":"by","line":1,"column":1,` +
			`"hint":"did you mean kind?"`,
		"groups?by=status": `"hint":"did you mean outcome?"`,
		"groups?of=name": `"message":"the expression has the type string, and must be a duration","parameter":"of",` +
			`"line":1,"column":1,"hint":"write a duration`,
		"groups" + asked("true", "of", "ended.readiness -\nbegan.pul"): `"message":"unknown field began.pul",` +
			`"parameter":"of","line":2,"column":1,"hint":"did you mean began.pull?"}}`,
		"groups" + asked(`kind == "Pod"`, "of", strings.Repeat("x", 4097)): `parameter \"of\": it has 4097 bytes, more`,
		"groups?quantiles=0.5,2": `parameter \"quantiles\": \"2\" is no number from 0 to 1, such as 0.9`,
		"groups?tz=Mars":         `parameter \"tz\": \"Mars\" is no time zone such as \"Europe/Berlin\"`,
		"groups?tz=Local":        `parameter \"tz\": \"Local\" is no time zone`,
		"groups?quantiles=" + strings.Repeat("0,", 10) + "0": `there are 11, more than 10`,
		"lifecycles" + asked(strings.Repeat("x", 4097)):      `parameter \"where\": it has 4097 bytes, more than 4096`,
		"lifecycles?after=AAAA":                              `parameter \"after\"`,
		"lifecycles?sort=duration&after=AAAA":                `parameter \"after\"`,
		"lifecycles?reverse=true":                            `parameter \"reverse\": it needs \"sort\"`,
		"lifecycles?sort=name":                               `"parameter":"sort"`,
		"lifecycles?sort=phase.pul":                          "did you mean phase.pull?",
		"groups?sort=p95&quantiles=0.5":                      "groups are sorted by count, p50",
		"groups?by=node&by=nod":                              `"parameter":"by","index":1`,
		"groups?by=a&by=b&by=c&by=d":                         "it was given 4 times, more than 3",
		"lifecycles?wher=x": `the parameters are after, limit, namespace, ` +
			`reverse, since,`,
	} {
		res, body := s.get(t, "/api/v1/"+path)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), want) {
			t.Errorf("%s:\n got %d %s\nwant %s", path, res.StatusCode, body, want)
		}
	}
}

// refusing refuses every question.
type refusing struct {
	store.Reader
	why error
}

func (r refusing) List(context.Context, store.Query) (*store.Page, error) { return nil, r.why }
func (r refusing) Writes(context.Context, store.WriteQuery) (*store.WritePage, error) {
	return nil, r.why
}

func (r refusing) Density(context.Context, store.DensityQuery) (*store.Density, error) {
	return nil, r.why
}
func (r refusing) Find(context.Context, store.FindQuery) (*store.FindPage, error) { return nil, r.why }
func (r refusing) Group(context.Context, store.GroupQuery) (*store.GroupPage, error) {
	return nil, r.why
}

// TestCostlyQuestions: the answer for a refused question says what to do.
func TestCostlyQuestions(t *testing.T) {
	for name, tc := range map[string]struct {
		why     error
		code    int
		retry   string
		message string
	}{
		"too long": {
			fmt.Errorf("x: %w", store.ErrTooLong), 422, "",
			"the question takes longer than 10s: narrow it with a later since, a kind or a namespace",
		},
		"busy": {
			fmt.Errorf("x: %w", store.ErrBusy), 429, "2",
			"this server is busy with other questions: try again in a moment",
		},
	} {
		s := start(t, Options{Access: all(refusing{filled(t), tc.why}), Clock: time.Now})
		for _, path := range []string{
			"lifecycles" + asked(`kind == "Pod"`), "groups" + asked(`kind == "Pod"`), "traces" + asked(`kind == "Pod"`),
			"traces?namespace=x", "writes?part=desired", "density?kind=Pod",
		} {
			res, body := s.get(t, "/api/v1/"+path)
			if res.StatusCode != tc.code || res.Header.Get("Retry-After") != tc.retry ||
				!strings.Contains(string(body), `"message":"`+tc.message+`"`) {
				t.Errorf(
					"%s of %s: %d, Retry-After %q: %s",
					name,
					path,
					res.StatusCode,
					res.Header.Get("Retry-After"),
					body,
				)
			}
		}
	}
}

// TestNamespace: both ways to ask have only the lifecycles of objects in the namespace.
func TestNamespace(t *testing.T) {
	s := start(t, Options{})
	var all, some GroupPage
	s.into(t, "/api/v1/groups?by=namespace", &all)
	s.into(t, "/api/v1/groups?by=namespace&namespace=default", &some)
	if len(all.Groups) < 2 || len(some.Groups) != 1 || some.Groups[0].Value != "default" {
		t.Errorf("groups of all namespaces %+v, of one %+v", all.Groups, some.Groups)
	}
	var found LifecyclePage
	s.into(t, "/api/v1/lifecycles?limit=1000&namespace=default", &found)
	for _, l := range found.Lifecycles {
		if l.Object.Namespace != "default" {
			t.Errorf("%s is in %q", l.Object.Name, l.Object.Namespace)
		}
	}
	if len(found.Lifecycles) == 0 {
		t.Error("there are no lifecycles in the namespace")
	}
}
