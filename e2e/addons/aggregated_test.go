// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// widgetOperator is the operator of the Widgets: it makes a Flunder for each.
const widgetOperator = "widget-operator"

func widget(size int) string {
	return fmt.Sprintf("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: %d}\n", size)
}

// ownedBy is the metadata of an object with a controller owner.
func (s *stage) ownedBy(name, apiVersion, kind, owner string) string {
	s.t.Helper()
	uid := s.MustKubectl(s.t, "", "-n", shop, "get", strings.ToLower(kind), owner, "-o", "jsonpath={.metadata.uid}")
	return fmt.Sprintf("{name: %s, ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]}",
		name, apiVersion, kind, owner, uid)
}

// report writes the status of the Widget.
func (s *stage) report(generation int, ready string) {
	s.t.Helper()
	s.as(widgetOperator, "patch", "widget/one", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"observedGeneration":%d,"conditions":[{"type":"Ready","status":%q,"reason":"Play",`+
			`"lastTransitionTime":%q}]}}`,
		generation,
		ready,
		time.Now().UTC().Format(time.RFC3339),
	))
}

// TestAggregated records objects of an aggregated API with a separate etcd, as dependants and as an
// owner. Their resourceVersions are below all others. The audit log lacks the responses of such an API, so
// settle cannot see its writes: the steps of the play are a fixed time apart.
func TestAggregated(t *testing.T) {
	opts := lab.Options{
		AddOns: []lab.AddOn{lab.SampleAPI}, Nodes: lab.NodesNone, Users: []lab.User{{Name: widgetOperator}},
	}
	traces := record(t, "aggregated.kwok", opts, func(s *stage) {
		s.apply(userA, harness.CustomKind("Widget", "example.com"))
		s.await("condition=Established", "crd/widgets.example.com")
		time.Sleep(quiet)

		s.apply(userA, widget(1))
		s.apply(widgetOperator, addon.Flunder(s.ownedBy("part", "example.com/v1", "Widget", "one"), "first"))
		s.report(1, "True")
		time.Sleep(quiet)

		s.apply(userB, widget(2))
		s.report(2, "False")
		s.as(widgetOperator, "patch", "flunder/part", "--type=merge", "-p", `{"spec":{"reference":"second"}}`)
		s.report(2, "True")
		time.Sleep(quiet)

		s.as(userC, "delete", "flunder/part")
		s.apply(widgetOperator, addon.Flunder(s.ownedBy("part", "example.com/v1", "Widget", "one"), "second"))
		time.Sleep(quiet)

		s.apply(userA, addon.Flunder("{name: alone}", "x"))
		s.apply(widgetOperator, "apiVersion: v1\nkind: ConfigMap\nmetadata: "+
			s.ownedBy("below", "wardle.example.com/v1alpha1", "Flunder", "alone")+"\ndata: {a: b}\n")
		time.Sleep(2 * quiet)
		s.as(userB, "label", "flunder/alone", "team=b")
		time.Sleep(quiet)
		s.as(userC, "delete", "flunder/alone")
		s.await("delete", "configmap/below")
		time.Sleep(quiet)

		s.as(userA, "delete", "widget/one")
		s.await("delete", "flunder/part")
		time.Sleep(2 * quiet)
	})
	expect(t, traces, map[string]int{
		"Widget one <":              3, // a creation, a change and a deletion
		"Flunder part < Widget one": 3,
		"Flunder part <":            2, // the deletion by user-c, and its healing
		"Flunder alone <":           3, // a creation, a label and a deletion
		"ConfigMap below <":         0,
	})
}
