// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestSpanOfATrace: a search finds a hidden span, and the way to it opens the lists with it.
func TestSpanOfATrace(t *testing.T) {
	many, joined := spantest.Many(1000), spantest.Joined()
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{many, joined, spantest.Hostile()}})
	s := start(t, Options{Access: v.Access})
	at := "/api/v1/traces/" + many.ID.String()
	var found Found
	s.into(t, at+"/find?limit=2&text="+url.QueryEscape("WEB-6cf-0777 pull"), &found)
	if found.Count != 1 || len(found.Spans) != 1 || found.Spans[0].Label != "pull image nginx:1.27" {
		t.Fatalf("got %+v", found)
	}
	var one SpanDetail
	s.into(t, at+"/spans/"+found.Spans[0].SpanID, &one)
	names := []string{}
	for _, step := range one.Way {
		names = append(names, step.Span.Name)
		var page Tree
		s.into(t, at+"/tree?expand="+step.Key, &page)
		if !slices.ContainsFunc(
			page.Nodes,
			func(n TreeNode) bool { return n.Span != nil && n.Span.SpanID == step.Span.SpanID },
		) {
			t.Errorf("%s does not open %s", step.Key, step.Span.SpanID)
		}
	}
	if want := []string{
		"run",
		"reconcile Deployment",
		"reconcile ReplicaSet",
		"reconcile Pod",
		"pull image",
	}; !slices.Equal(names, want) {
		t.Errorf("got the way %v", names)
	}
	if !slices.ContainsFunc(one.Attributes, func(a Attribute) bool {
		return a.Key == "container.image.name" && a.Value == "nginx:1.27"
	}) {
		t.Errorf("got %+v", one.Attributes)
	}
	s.into(t, at+"/find?text=pod", &found)
	if found.Count < 1000 || len(found.Spans) != usualFound {
		t.Errorf("got %d of %d", len(found.Spans), found.Count)
	}

	s.into(t, "/api/v1/traces/"+joined.ID.String()+"/find?text=etcdserverpb", &found)
	if found.Count != 2 || !found.Spans[0].Other {
		t.Fatalf("got %+v", found)
	}
	s.into(t, "/api/v1/traces/"+joined.ID.String()+"/spans/"+found.Spans[1].SpanID, &one)
	if len(one.Resource) == 0 || one.Way[len(one.Way)-1].Key[0] != 'o' {
		t.Errorf("got %+v", one)
	}
	for path, status := range map[string]int{
		"/spans/0123456789abcdef": http.StatusNotFound,
		"/spans/x":                http.StatusBadRequest,
		"/find?text=a&limit=0":    http.StatusBadRequest,
	} {
		if res, body := s.get(t, at+path); res.StatusCode != status {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

// TestFormats: a trace as files of other tools, and as one page.
func TestFormats(t *testing.T) {
	v := viewtest.New(t)
	one := spantest.Joined()
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{one}})
	s := start(t, Options{Access: v.Access})
	at := "/api/v1/traces/" + one.ID.String() + "?format="
	for format, want := range map[string][2]string{
		"otlp":     {"application/json", `{"resourceSpans":`},
		"perfetto": {"application/json", `{"displayTimeUnit":`},
		"mermaid":  {"text/plain; charset=utf-8", "flowchart LR"},
		"html":     {"text/html; charset=utf-8", "<!doctype html>"},
	} {
		res, body := s.get(t, at+format)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != want[0] ||
			!strings.HasPrefix(string(body), want[1]) {
			t.Errorf("%s: %d %s %.60s", format, res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		if attached := strings.HasPrefix(
			res.Header.Get("Content-Disposition"),
			"attachment",
		); attached != (format != "otlp") {
			t.Errorf("%s: attached: %t", format, attached)
		}
	}
	if res, body := s.get(t, at+"pdf"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown format: %d %s", res.StatusCode, body)
	}
}

// TestBounded: a file keeps Lifeline's spans and those above them, and leaves out others.
func TestBounded(t *testing.T) {
	one := spantest.Joined()
	shorter, left := bounded(excerptOf(one, false, asOf), 11)
	got := shorter.Trace()
	kept := map[string]bool{}
	for _, s := range got.Spans {
		kept[s.ID.String()] = true
		if s.Parent.IsValid() && !kept[s.Parent.String()] {
			t.Errorf("%s is there without its parent", s.Name)
		}
	}
	for _, s := range one.Spans {
		if s.Origin == nil && !kept[s.ID.String()] {
			t.Errorf("%s is left out", s.Name)
		}
	}
	if left == 0 || left+len(got.Spans) != len(one.Spans) {
		t.Errorf("%d are left out, and %d of %d kept", left, len(got.Spans), len(one.Spans))
	}
}
