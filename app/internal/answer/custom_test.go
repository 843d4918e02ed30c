// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// version is a stored version of an object: its fields outside the metadata, and some of these. A
// missing field stays.
type version struct {
	after      time.Duration
	generation int64
	fields     string
}

// TestCustomKinds: the whole answer about objects of kinds without built-in rules, 20 s after the last
// version.
func TestCustomKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		kind     string
		versions []version
		want     string
	}{
		"kafka-not-ready": {
			"a condition NotReady with the reason of a timeout is a declared failure",
			"{apiVersion: kafka.strimzi.io/v1, kind: Kafka}",
			[]version{
				{0, 1, "spec: {kafka: {listeners: [{name: plain, port: 9092}]}}"},
				{5 * time.Second, 1, `status: {observedGeneration: 1, conditions: [{type: NotReady, status: "True",
					reason: TimeoutException, message: Exceeded timeout of 300000ms}]}`},
			},
			"Kafka shop failed 20s ago: it failed: “Exceeded timeout of 300000ms”.\n" +
				"Cause: an unknown author created Kafka shop at 12:01:00, trace 483dc408.\n" +
				"Since 12:01:05. Before that, it waited 5s for its controller.\n" +
				"Next: kubectl -n default describe kafka.kafka.strimzi.io/shop\n",
		},
		"rollout-paused": {
			"a paused rollout waits for a person",
			"{apiVersion: argoproj.io/v1alpha1, kind: Rollout}",
			[]version{
				{0, 1, "spec: {replicas: 2, strategy: {blueGreen: {autoPromotionEnabled: false}}}"},
				{5 * time.Second, 1, `status: {observedGeneration: "1", phase: Paused, message: BlueGreenPause,
					pauseConditions: [{reason: BlueGreenPause}], conditions: [
					{type: Healthy, status: "False", reason: RolloutHealthy, message: Rollout is not healthy},
					{type: Paused, status: "True", reason: RolloutPaused, message: Rollout is paused}]}`},
			},
			"Rollout shop has been held for 20s: it is paused (BlueGreenPause), and waits for its promotion.\n" +
				"Cause: an unknown author created Rollout shop at 12:01:00, trace 483dc408.\n" +
				"Since 12:01:05. Before that, it waited 5s for its controller.\n" +
				"Next: kubectl -n default describe rollout.argoproj.io/shop\n",
		},
		"rollout-done": {
			"an observed generation as text",
			"{apiVersion: argoproj.io/v1alpha1, kind: Rollout}",
			[]version{
				{0, 1, "spec: {replicas: 2, strategy: {blueGreen: {}}}"},
				{5 * time.Second, 1, `status: {observedGeneration: "1", phase: Healthy, conditions: [
					{type: Healthy, status: "True", reason: RolloutHealthy}]}`},
			},
			"Rollout shop converged 20s ago, in 5s; slowest: reconcile Rollout (100 %).\n",
		},
		"machine-halted": {
			"a machine that should not run, and does not",
			"{apiVersion: kubevirt.io/v1, kind: VirtualMachine}",
			[]version{
				{0, 1, "spec: {runStrategy: Halted, template: {spec: {domain: {}}}}"},
				{5 * time.Second, 1, `status: {observedGeneration: 1, printableStatus: Stopped, conditions: [
					{type: Ready, status: "False", reason: VMINotExists, message: VMI does not exist}]}`},
			},
			"VirtualMachine shop converged 20s ago, in 5s; slowest: reconcile VirtualMachine (100 %); " +
				"held: it is stopped, as wished.\n",
		},
		"duplicate-conditions": {
			"the last of three conditions Ready counts",
			"{apiVersion: http.keda.sh/v1alpha1, kind: HTTPScaledObject}",
			[]version{
				{0, 1, "spec: {hosts: [front.example.com]}"},
				{5 * time.Second, 1, `status: {conditions: [
					{type: Ready, status: Unknown, reason: PendingCreation, timestamp: "2026-01-02T03:04:10Z"},
					{type: Ready, status: "True", reason: AppScaledObjectCreated, timestamp: "2026-01-02T03:04:10Z"},
					{type: Ready, status: "True", reason: HTTPScaledObjectIsReady,
						timestamp: "2026-01-02T03:04:10Z"}]}`},
			},
			"HTTPScaledObject shop converged 20s ago, in 5s; slowest: reconcile HTTPScaledObject (100 %).\n",
		},
		"stale-parent": {
			"the status of a parent that the route no longer names does not count",
			"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute}",
			[]version{
				{0, 1, "spec: {parentRefs: [{name: eg, namespace: gw, sectionName: nonexistent}]}"},
				{5 * time.Second, 1, `status: {parents: [
					{parentRef: {name: eg, namespace: gw, sectionName: nonexistent}, conditions: [
					{type: Accepted, status: "False", reason: NoMatchingParent, observedGeneration: 1}]}]}`},
				{5 * time.Second, 2, "spec: {parentRefs: [{name: eg, namespace: gw, sectionName: https}]}"},
				{5 * time.Second, 2, `status: {parents: [
					{parentRef: {name: eg, namespace: gw, sectionName: nonexistent},
					conditions: [{type: Accepted, status: "False", reason: NoMatchingParent, observedGeneration: 1}]},
					{parentRef: {name: eg, namespace: gw, sectionName: https}, conditions: [
					{type: Accepted, status: "True", reason: Accepted, observedGeneration: 2},
					{type: ResolvedRefs, status: "True", reason: ResolvedRefs, observedGeneration: 2}]}]}`},
			},
			"HTTPRoute shop converged 20s ago, in 5s; slowest: reconcile HTTPRoute (100 %).\n",
		},
		"degraded": {
			"an operator goes on although a condition is Degraded",
			"{apiVersion: widgets.example.com/v1, kind: Widget}",
			[]version{
				{0, 1, "spec: {size: 1}"},
				{5 * time.Second, 1, `status: {conditions: [{type: Available, status: "False", reason: NoReplicas},
					{type: Degraded, status: "True", reason: NoReplicas}]}`},
			},
			"Widget shop has been stuck for 20s: it is not ready: NoReplicas.\n" +
				"Cause: an unknown author created Widget shop at 12:01:00, trace 483dc408.\n" +
				"Since 12:01:05.\n" +
				"Next: kubectl -n default describe widget.widgets.example.com/shop\n",
		},
		"phase-failed": {
			"the phase declares the failure",
			"{apiVersion: widgets.example.com/v1, kind: Widget}",
			[]version{{0, 1, "spec: {size: 1}"}, {5 * time.Second, 1, "status: {phase: Failed, reason: BuildFailed}"}},
			"Widget shop failed 20s ago: it failed: BuildFailed.\n" +
				"Cause: an unknown author created Widget shop at 12:01:00, trace 483dc408.\n" +
				"Since 12:01:05.\n" +
				"Next: kubectl -n default describe widget.widgets.example.com/shop\n",
		},
		"late-first-status": {
			"an object waits for its first status if its kind shows one",
			"{apiVersion: known.example.com/v1, kind: Widget}",
			[]version{{0, 1, "spec: {size: 1}"}, {10 * time.Second, 1, "status: {phase: Ready}"}},
			"Widget shop converged 20s ago, in 10s; slowest: reconcile Widget (100 %).\n",
		},
		"generation-first": {
			"an observed generation alone shows nothing if the kind has conditions",
			"{apiVersion: known.example.com/v1, kind: Widget}",
			[]version{
				{0, 1, "spec: {size: 1}"},
				{100 * time.Millisecond, 1, "status: {observedGeneration: 1}"},
				{time.Second, 1, `status: {observedGeneration: 1, conditions: [{type: Ready, status: "False"}]}`},
				{time.Minute, 1, `status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`},
			},
			"Widget shop converged 20s ago, in 61s; slowest: condition Ready (100 %).\n",
		},
		"first-of-its-kind": {
			"the first object of a kind with a status waits for it",
			"{apiVersion: new.example.com/v1, kind: Widget}",
			[]version{{0, 1, "spec: {size: 1}"}, {10 * time.Second, 1, "status: {phase: Ready}"}},
			"Widget shop converged 20s ago, in 10s; slowest: reconcile Widget (100 %).\n",
		},
		"first-of-its-kind-waits": {
			"… for half a minute",
			"{apiVersion: new.example.com/v1, kind: Widget}",
			[]version{{0, 1, "spec: {size: 1}"}},
			"The change of Widget shop has been running for 20s: it waits for its controller to report completion.\n" +
				"Cause: an unknown author created Widget shop at 12:01:00, trace 483dc408.\n",
		},
		"nothing-shown": {
			"the answer says that nothing confirms the convergence",
			"{apiVersion: networking.istio.io/v1, kind: VirtualService}",
			[]version{{0, 1, "spec: {hosts: [shop]}"}},
			"VirtualService shop converged 20s ago, in 0s; unconfirmed: its status does not show its state.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := lifecycle.New(lifecycle.Options{Cluster: "c"})
			signals := new(health.Signals)
			signals.Add(schema.GroupKind{Group: "known.example.com", Kind: "Widget"})
			normalizer := normalize.New([normalize.KeySize]byte{1}, normalize.Settings{Signals: signals})
			obj := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.kind), &obj); err != nil {
				t.Fatal(err)
			}
			of := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
			if name != "nothing-shown" {
				signals.Define(map[string]any{"spec": map[string]any{
					"group": of.Group, "names": map[string]any{"kind": of.Kind},
					"versions": []any{map[string]any{
						"served": true, "subresources": map[string]any{"status": map[string]any{}},
					}},
				}})
			}
			at, ref := now, object.Ref{}
			var traces []*span.Trace
			for i, v := range tc.versions {
				at = at.Add(v.after)
				more := map[string]any{}
				if err := yaml.Unmarshal([]byte(v.fields), &more); err != nil {
					t.Fatal(err)
				}
				obj = maps.Clone(obj)
				maps.Copy(obj, more)
				obj["metadata"] = map[string]any{
					"name": "shop", "namespace": "default", "uid": "u", "resourceVersion": string(rune('1' + i)),
					"generation": v.generation, "creationTimestamp": now.Format(time.RFC3339),
				}
				s := normalizer.Object(&unstructured.Unstructured{Object: obj})
				ref = s.Ref
				traces = append(traces, engine.Take(at)...)
				engine.Observe(&observation.Observation{Seen: at, Source: observation.SourceWatch, State: s})
			}
			at = at.Add(20 * time.Second)
			traces = append(traces, engine.Traces(at)...)
			a := Explain(traces[len(traces)-1], ref, at)
			if diff := cmp.Diff(tc.want, a.Text(at, "default")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
