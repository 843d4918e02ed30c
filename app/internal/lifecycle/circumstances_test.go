// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestCircumstances: the spans of a rollout have what may explain how long it took.
func TestCircumstances(t *testing.T) {
	s := newStory()
	s.write("node-1", ofKind("", "Node"), func(st *observation.State) {
		st.Namespace, st.Node = "", &observation.Node{Kubelet: "v1.36.2", Pool: "spot"}
	})
	for _, claim := range []string{"data", "logs", "more"} {
		s.write(claim, ofKind("", "PersistentVolumeClaim"), func(st *observation.State) {
			class := map[string]string{"data": "fast", "logs": "slow", "more": "fast"}[claim]
			st.Relations = []object.Relation{{Type: object.Class, To: object.Name{
				Group: "storage.k8s.io", Kind: "StorageClass", Name: class,
			}}}
		})
	}
	s.before()
	requests := func(st *observation.State) {
		for _, claim := range []string{"data", "logs", "more"} {
			st.Relations = append(st.Relations, object.Relation{Type: object.Claim, To: object.Name{
				Kind: "PersistentVolumeClaim", Namespace: "default", Name: claim,
			}})
		}
		st.Leaves = []observation.Leaf{
			{Path: "spec.containers[name=app].resources.limits.cpu", Shown: "2"},
			{Path: "spec.containers[name=app].resources.requests.cpu", Shown: "250m"},
			{Path: "spec.containers[name=app].resources.requests.memory", Shown: "128Mi"},
			{Path: "spec.containers[name=proxy].resources.requests.cpu", Shown: "1"},
			{Path: "spec.containers[name=proxy].resources.requests.memory", Shown: "many"},
			{Path: "spec.initContainers[name=init].resources.requests.cpu", Shown: "4"},
		}
		st.Pod.Scheduler = "own"
	}
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"), requests)
	s.write("web-1-a", bind)
	s.write("web-1-a", ready)
	s.write("web-1-b", pod("web-1"), func(st *observation.State) { st.Pod.Scheduler = "default-scheduler" })
	s.write("web-1", arrived)
	s.write("web", arrived)
	got := map[string]string{}
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		for _, sp := range tr.Spans {
			if !sp.IsReconciliation() || !strings.HasPrefix(sp.Object.Name, "web") {
				continue
			}
			var all []string
			for _, kv := range sp.Attributes {
				switch kv.Key {
				case span.KeyScheduler, span.KeyStorageClasses, span.KeyCPU, span.KeyMemory, span.KeyReplicas,
					span.KeyKubelet, span.KeyNodePool:
					all = append(all, strings.TrimPrefix(string(kv.Key), "lifeline.")+"="+kv.Value.String())
				}
			}
			got[sp.Object.Name] = strings.Join(all, " ")
		}
	}
	want := map[string]string{
		"web": "replicas=1", "web-1": "replicas=1", "web-1-b": "",
		"web-1-a": `node.kubelet=v1.36.2 node.pool=spot pod.scheduler=own pod.storage_classes=["fast","slow"] ` +
			"pod.requests.cpu=1250 pod.requests.memory=134217728",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
