// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// TestPreemptionWithExtender: an extender leaves one of two candidates, and not the better one.
func TestPreemptionWithExtender(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args extenderv1.ExtenderPreemptionArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil || len(args.NodeNameToMetaVictims) != 2 {
			http.Error(w, "not two candidates", http.StatusBadRequest)
			return
		}
		left := map[string]*extenderv1.MetaVictims{"a": args.NodeNameToMetaVictims["a"]}
		if err := json.NewEncoder(w).Encode(
			extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: left},
		); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	c := start(t, settings{
		traced: true,
		objects: []runtime.Object{
			node("a", "4", "8Gi"), pod("middle-1", "3", "1Gi", withPriority(5), on("a")),
			node("b", "4", "8Gi"), pod("low-1", "3", "1Gi", withPriority(1), on("b")),
			pod("high-1", "3", "1Gi", withPriority(100)),
		},
		options: []scheduler.Option{scheduler.WithExtenders(config.Extender{
			URLPrefix: server.URL, PreemptVerb: "preempt", NodeCacheCapable: true,
		})},
	})
	want(t, named(t, c.spans(1), "PostFilter DefaultPreemption"), map[string]string{
		"k8s.node.name": "a", "k8s.scheduler.nodes.evaluated": "2",
		"k8s.scheduler.preemption.candidates":      "1",
		"k8s.scheduler.preemption.candidate.nodes": `["a"]`,
		"k8s.scheduler.preemption.decided_by":      "only_candidate",
		"k8s.scheduler.preemption.victim.names":    `["default/middle-1"]`,
	})
}

// TestExtender: an extender rejects a node, and its score decides between the others.
func TestExtender(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args extenderv1.ExtenderArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.NodeNames == nil {
			http.Error(w, "no names of nodes", http.StatusBadRequest)
			return
		}
		var answer any
		if strings.HasSuffix(r.URL.Path, "/filter") {
			answer = extenderv1.ExtenderFilterResult{
				NodeNames: &[]string{"b", "c"}, FailedNodes: extenderv1.FailedNodesMap{"a": "Insufficient licenses"},
			}
		} else {
			answer = extenderv1.HostPriorityList{{Host: "b", Score: 1}, {Host: "c", Score: 9}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	c := start(t, settings{
		traced: true,
		objects: []runtime.Object{
			node("a", "8", "8Gi"), node("b", "4", "8Gi"), node("c", "2", "8Gi"), pod("web-1", "1", "1Gi"),
		},
		options: []scheduler.Option{scheduler.WithExtenders(config.Extender{
			URLPrefix: server.URL + "/confidential", FilterVerb: "filter", PrioritizeVerb: "prioritize", Weight: 2,
			NodeCacheCapable: true,
		})},
	})
	if got := c.waitBound(1)["uid-web-1"]; got != "c" {
		t.Errorf("bound to %q, want c, the node with the extender's highest score", got)
	}
	all := c.spans(1)
	host := strings.TrimPrefix(server.URL, "http://")
	want(t, named(t, all, "Filter extender"), map[string]string{
		"k8s.scheduler.extender": host, "k8s.scheduler.nodes.evaluated": "3", "k8s.scheduler.nodes.rejected": "1",
		"k8s.scheduler.reject.examples": `["a"]`,
	})
	want(t, named(t, all, "Score extender"), map[string]string{
		"k8s.scheduler.extender": host, "k8s.scheduler.score": "180", "k8s.scheduler.score.second": "20",
	})
	score := named(t, all, "Score")
	want(t, score, map[string]string{"k8s.node.name": "c", "k8s.scheduler.score.second_node": "b"})
	for _, parent := range []string{"Filter", "Score"} {
		if s := named(t, all, parent+" extender"); s.Parent().SpanID() != named(t, all, parent).SpanContext().SpanID() {
			t.Errorf("%s is not below %s:\n%s", s.Name(), parent, tree(all))
		}
	}
}
