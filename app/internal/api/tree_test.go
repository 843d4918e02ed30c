// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// count counts the spans of nodes and all below.
func count(nodes []TreeNode) int {
	n := 0
	for i := range nodes {
		if nodes[i].Span != nil {
			n++
		}
		n += count(nodes[i].Children)
	}
	return n
}

// TestTree: a large trace has a short tree, and its keys open the rest.
func TestTree(t *testing.T) {
	many, joined := spantest.Many(1000), spantest.Joined()
	v := viewtest.New(t)
	v.Put(
		t,
		asOf,
		viewtest.Traces{Open: []*span.Trace{spantest.Unschedulable()}, Finished: []*span.Trace{many, joined}},
	)
	s := start(t, Options{Access: v.Access})
	at := "/api/v1/traces/" + many.ID.String() + "/tree"
	var whole Tree
	s.into(t, at, &whole)
	if whole.Spans != len(many.Spans) || whole.Summary.Spans != len(many.Spans) || len(whole.Path) == 0 {
		t.Errorf("got %d spans, %+v", whole.Spans, whole.Summary)
	}
	if got := count(whole.Nodes); got > 20 {
		t.Errorf("%d spans are shown", got)
	}
	groups := groupsOf(whole.Nodes)
	if len(groups) != 2 {
		t.Fatalf("got groups %+v", groups)
	}
	healthy, evicted := groups[0], groups[1]
	if healthy.Count != 990 || evicted.Count != 10 || !evicted.Failed || evicted.Outcome != span.Failed {
		t.Errorf("got %+v and %+v", healthy, evicted)
	}
	if !(healthy.Min < healthy.P50 && healthy.P50 < healthy.P99 && healthy.P99 < healthy.Max) ||
		len(healthy.Outliers) != 5 {
		t.Errorf("got %+v", healthy)
	}
	members, key := 0, healthy.Key
	for key != "" {
		var page Tree
		s.into(t, at+"?expand="+url.QueryEscape(key), &page)
		members += len(page.Nodes)
		key = page.MoreKey
	}
	if members != 990 {
		t.Errorf("%d members were opened", members)
	}
	res, body := s.get(t, at+"?expand=c0123456789abcdef")
	if res.StatusCode != http.StatusGone {
		t.Errorf("a key of no tree: %d %s", res.StatusCode, body)
	}
	res, body = s.get(t, at+"?expand=x")
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("no key: %d %s", res.StatusCode, body)
	}

	// The key of another server, or of a forgotten tree, works as well.
	s.into(t, "/api/v1/traces/"+joined.ID.String()+"/tree", &whole)
	others := 0
	for _, k := range othersOf(whole.Nodes) {
		s.traces.trees.used = nil
		var page Tree
		s.into(t, "/api/v1/traces/"+joined.ID.String()+"/tree?expand="+k, &page)
		others += count(page.Nodes)
		if !page.Nodes[0].Span.Other {
			t.Errorf("got %+v", page.Nodes[0].Span)
		}
	}
	if others != 2 {
		t.Errorf("%d spans of other components, want those of the API server and of the kubelet", others)
	}
}

func groupsOf(nodes []TreeNode) (out []*TreeGroup) {
	for i := range nodes {
		if nodes[i].Group != nil {
			out = append(out, nodes[i].Group)
		}
		out = append(out, groupsOf(nodes[i].Children)...)
	}
	return out
}

func othersOf(nodes []TreeNode) (keys []string) {
	for i := range nodes {
		if nodes[i].OthersKey != "" {
			keys = append(keys, nodes[i].OthersKey)
		}
		keys = append(keys, othersOf(nodes[i].Children)...)
	}
	return keys
}
