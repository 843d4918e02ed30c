// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestBeside: the objects beside the target give the reason of its present state.
func TestBeside(t *testing.T) {
	type edit = func(*observation.State)
	leaf := func(path, value string) edit {
		return func(s *observation.State) {
			s.Leaves = append(s.Leaves, observation.Leaf{Path: path, Value: 1, Shown: value})
		}
	}
	deleted := func(finalizer string) edit {
		return func(s *observation.State) { s.Deleting, s.Finalizers = spantest.Epoch, []string{finalizer} }
	}
	onNode := func(s *observation.State) { s.Pod = &observation.Pod{Node: "node-99", Phase: "Pending"} }
	for name, tc := range map[string]struct {
		tell func(f *family, put func(k *kind.Kind, name string, edits ...edit))
		// The first object is the target. reason is that of its trace, and standing that of a converged one.
		reason, standing string
	}{
		"a workload at 0": {func(_ *family, put func(*kind.Kind, string, ...edit)) {
			put(&kind.Service, "web", leaf("spec.selector.app", "web"))
			put(&kind.EndpointSlice, "web-a", func(s *observation.State) {
				s.Owners = []object.Owner{{Kind: kind.Service.Kind, Name: "web", UID: "web", Controller: true}}
				s.Endpoints = &observation.Endpoints{Service: "web"}
			})
			put(&kind.Deployment, "mail", leaf("spec.template.metadata.labels.app", "web"),
				func(s *observation.State) { s.Workload = &observation.Workload{} })
		}, "", "has no endpoint: Deployment mail is scaled to 0"},
		"a claim in use": {func(_ *family, put func(*kind.Kind, string, ...edit)) {
			put(&kind.PersistentVolumeClaim, "data", deleted("kubernetes.io/pvc-protection"))
			put(&kind.Pod, "store", onNode, func(s *observation.State) {
				s.Relations = []object.Relation{{Type: object.Claim, To: object.Name{
					Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data",
				}}}
			})
			put(&kind.Pod, "other", onNode)
		}, "PersistentVolumeClaim data waits for the end of Pod store, which uses it", ""},
		"a missing node": {func(f *family, put func(*kind.Kind, string, ...edit)) {
			put(&kind.Pod, "web", onNode)
			f.lacking["node-99"] = true
		}, "Pod web is assigned to node node-99, which does not exist", ""},
		"a node that was not read": {func(_ *family, put func(*kind.Kind, string, ...edit)) {
			put(&kind.Pod, "web", onNode)
		}, "Pod web waits to be ready", ""},
		"a kept definition": {func(f *family, put func(*kind.Kind, string, ...edit)) {
			put(&kind.CustomResourceDefinition, "gears.example.com", deleted("customresourcecleanup"))
			put(&kind.Kind{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Gear"}}, "one", deleted("a/b"))
			f.defined = &schema.GroupKind{Group: "example.com", Kind: "Gear"}
		}, "CustomResourceDefinition gears.example.com waits for finalizer customresourcecleanup",
			"waits for the deletion of Gear shop/one, which waits for finalizer a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &family{
				seen: &seen{states: map[types.UID]*observation.State{}}, read: map[schema.GroupKind]bool{},
				lacking: map[string]bool{},
			}
			tc.tell(f, func(k *kind.Kind, name string, edits ...edit) {
				s := &observation.State{
					ResourceVersion: uint64(len(f.seen.all) + 1), Generation: 1, ObservedGeneration: -1,
					Reconciled: true, Created: spantest.Epoch.Add(-time.Hour), Progress: observation.ProgressCurrent,
				}
				s.Kind, s.Namespace, s.Name, s.UID = k.Kind, "shop", name, types.UID(name)
				for _, edit := range edits {
					edit(s)
				}
				if f.target == "" {
					f.target, f.up = s.UID, []types.UID{s.UID}
				}
				f.seen.add(&observation.Observation{
					State: s, Baseline: true, Listed: true, Seen: spantest.Epoch, Source: observation.SourceWatch,
				})
			})
			traces, standing := rebuild("cluster-1", f, spantest.Epoch.Add(time.Minute))
			reason := ""
			if len(traces) > 0 {
				reason = traces[0].Reason
			}
			if reason != tc.reason || standing.Text != tc.standing {
				t.Errorf("got %q and %q, want %q and %q", reason, standing.Text, tc.reason, tc.standing)
			}
		})
	}
}
