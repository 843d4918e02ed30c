// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"
)

// renderedWith returns the objects of the chart with some values, as KIND/NAME, and all their text.
func renderedWith(t *testing.T, values string) (objects []string, text string) {
	t.Helper()
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	top, err := util.ToRenderValues(s.chart, v, common.ReleaseOptions{Name: "lifeline", Namespace: "tracing"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(s.chart, top)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, doc := range documents(file, false) {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, o.Kind+"/"+o.Metadata.Name)
			text += "---\n" + doc + "\n"
		}
	}
	return objects, text
}

// TestAPIService: without the APIService, or without rights, nothing of it is left, and the server runs.
func TestAPIService(t *testing.T) {
	aggregated := []string{
		"APIService/v1alpha1.lifeline.dev", "Deployment/lifeline-discovery", "Service/lifeline-discovery",
		"Service/lifeline-api", "PodDisruptionBudget/lifeline-discovery", "NetworkPolicy/lifeline-discovery",
		"ClusterRole/lifeline-discovery",
	}
	users := []string{
		"ClusterRole/lifeline-changes", "ClusterRole/lifeline-visible-changes",
		"ClusterRoleBinding/lifeline-visible-changes",
	}
	for values, tc := range map[string]struct {
		reason        string
		with, without []string
	}{
		"{}": {"the default", append(slices.Clone(aggregated), users...), nil},
		"apiService: {enabled: false}": {
			"callers of the other doors need the same right", users, aggregated,
		},
		"rights: {enabled: false}": {
			"each client sees everything", nil, append(slices.Clone(aggregated), users...),
		},
		"rights: {visibleChanges: false}": {
			"bound by hand", append(slices.Clone(aggregated), users[:2]...), users[2:],
		},
		"discovery: {replicas: 1}": {
			"a budget would block the drain of its node", aggregated[:4], aggregated[4:5],
		},
	} {
		objects, _ := renderedWith(t, values)
		for _, o := range append(slices.Clone(tc.with), "StatefulSet/lifeline") {
			if !slices.Contains(objects, o) {
				t.Errorf("%s (%s): there is no %s", values, tc.reason, o)
			}
		}
		for _, o := range tc.without {
			if slices.Contains(objects, o) {
				t.Errorf("%s (%s): there is %s", values, tc.reason, o)
			}
		}
	}
	const label = "rbac.authorization.k8s.io/aggregate-to-view"
	if _, text := renderedWith(t, "{}"); !strings.Contains(text, label) {
		t.Error("who may view does not see changes")
	}
	if _, text := renderedWith(t, "rights: {aggregate: false}"); strings.Contains(text, label) {
		t.Error("who may view sees changes, against the values")
	}
}

// TestUninstalledFirst: helm uninstall removes the APIService before its server, which the deletion of each namespace
// would wait for.
func TestUninstalledFirst(t *testing.T) {
	at := func(kind string) int { return slices.Index(release.UninstallOrder, kind) }
	for _, kind := range []string{
		"Service", "Deployment", "NetworkPolicy", "ClusterRole", "ServiceAccount", "Namespace",
	} {
		if at("APIService") < 0 || at(kind) >= 0 && at(kind) < at("APIService") {
			t.Errorf("%s is removed before the APIService", kind)
		}
	}
}
