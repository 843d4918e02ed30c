// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

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
