// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Paths in the repository.
const (
	folder = "deploy/helm/lifeline"
	values = "deploy/helm/values"
	rules  = "deploy/prometheus/rules.yaml"
	guide  = "docs/guides/helm.md"
)

// render is one file of manifests.
type render struct {
	path string
	// values are files in deploy/helm/values; later ones have precedence.
	values []string
	// release and namespace are those of `helm install`. Without a release, the manifests are for
	// kubectl: with their Namespace, and without hooks, notes and labels of a release.
	release, namespace string
}

// renders are all files of manifests.
var renders = []render{
	{path: "deploy/base/lifeline.yaml", values: []string{"base"}},
	{path: "deploy/emptydir/lifeline.yaml", values: []string{"emptydir"}},
	{path: "deploy/standby/lifeline.yaml", values: []string{"standby"}},
	{path: "deploy/webhook/lifeline.yaml", values: []string{"webhook"}},
	{path: "deploy/collector/daemonset/lifeline.yaml", values: []string{"collector-daemonset"}},
	{path: "deploy/collector/sidecar/lifeline.yaml", values: []string{"collector-sidecar"}},
	{path: "deploy/collector/gateway/lifeline.yaml", values: []string{"collector-gateway"}},

	{path: "app/internal/install/manifests/single.yaml", values: []string{"base"}},
	{path: "app/internal/install/manifests/standby.yaml", values: []string{"standby"}},
	{path: "app/internal/install/manifests/single-webhook.yaml", values: []string{"webhook"}},
	{path: "app/internal/install/manifests/standby-webhook.yaml", values: []string{"standby", "webhook"}},

	{
		path: "tools/chart/testdata/everything.yaml", values: []string{"everything"}, release: "lifeline",
		namespace: "lifeline",
	},
	{path: "tools/chart/testdata/managed.yaml", values: []string{"managed"}, release: "second", namespace: "tracing"},
}

// source is the chart in a folder of the repository.
type source struct {
	root  string
	chart *chart.Chart
}

func load(root string) (*source, error) {
	c, err := loader.LoadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, fmt.Errorf("cannot load the chart: %w", err)
	}
	return &source{root: root, chart: c}, nil
}

// values returns the merged values of some files.
func (s *source) values(names []string) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.root, values, name+".yaml"))
		if err != nil {
			return nil, err
		}
		var v map[string]any
		if err := yaml.UnmarshalStrict(text, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = loader.MergeMaps(out, v)
	}
	return out, nil
}

// templates is the order of the files: an object follows those that it needs.
var templates = []string{
	"namespace", "rbac", "rights", "changes", "configmap", "service", "networkpolicy", "poddisruptionbudget", "webhook",
	"collector", "statefulset", "discovery", "apiservice", "monitoring", "tests/ready",
}

func (s *source) render(r render) (string, error) {
	v, err := s.values(r.values)
	if err != nil {
		return "", err
	}
	release := common.ReleaseOptions{Name: r.release, Namespace: r.namespace, Revision: 1, IsInstall: true}
	kubectl := r.release == ""
	if kubectl {
		release.Name, release.Namespace = "lifeline", "lifeline"
		v["namespace"] = map[string]any{"create": true}
	}
	top, err := util.ToRenderValues(s.chart, v, release, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(s.chart, top)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# SPDX-License-Identifier: Apache-2.0\n#\n"+
		"# Rendered from %s with %s/%s.yaml by make manifests. Change them instead.\n",
		folder, values, strings.Join(r.values, ".yaml, "))
	for _, name := range templates {
		path := "lifeline/templates/" + name + ".yaml"
		for _, doc := range documents(files[path], kubectl) {
			out.WriteString("---\n" + doc + "\n")
		}
		delete(files, path)
	}
	for path, text := range files {
		switch {
		case strings.HasSuffix(path, ".tpl") || strings.TrimSpace(text) == "":
		case !strings.HasSuffix(path, "NOTES.txt"):
			return "", fmt.Errorf("%s has no place in the order of templates", path)
		case !kubectl:
			out.WriteString("---\n# NOTES.txt\n" + comment(text))
		}
	}
	return out.String(), nil
}

// ofRelease matches the lines that are only true of a release of Helm, or follow from it.
var ofRelease = regexp.MustCompile(`(?m)^ +(helm\.sh/chart|app\.kubernetes\.io/managed-by|` +
	`app\.kubernetes\.io/version|checksum/[a-z]+): .*\n`)

// documents returns the objects of a rendered file, those for kubectl without hooks.
func documents(text string, kubectl bool) (out []string) {
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		doc = strings.Trim(doc, "\n")
		if !strings.Contains(doc, "kind: ") || kubectl && strings.Contains(doc, "helm.sh/hook: ") {
			continue
		}
		if kubectl {
			doc = ofRelease.ReplaceAllString(doc+"\n", "")
		}
		out = append(out, strings.Trim(doc, "\n"))
	}
	return out
}

// comment returns lines as YAML comments.
func comment(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return out.String()
}

// rules returns the alert rules for a Prometheus without the operator: those of the chart with its default values.
func (s *source) rules() (string, error) {
	v := map[string]any{"monitoring": map[string]any{"prometheusRule": map[string]any{"enabled": true}}}
	release := common.ReleaseOptions{Name: "lifeline", Namespace: "lifeline"}
	top, err := util.ToRenderValues(s.chart, v, release, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(s.chart, top)
	if err != nil {
		return "", err
	}
	for _, doc := range documents(files["lifeline/templates/monitoring.yaml"], false) {
		_, spec, isRule := strings.Cut(doc, "\nspec:\n")
		if !isRule || !strings.Contains(doc, "kind: PrometheusRule") {
			continue
		}
		var out strings.Builder
		fmt.Fprintf(&out, "# %s/files/rules.yaml with the chart's default values, by make manifests. "+
			"Change that instead.\n", folder)
		for line := range strings.Lines(spec + "\n") {
			out.WriteString(strings.TrimPrefix(line, "  "))
		}
		return out.String(), nil
	}
	return "", errors.New("the chart has no PrometheusRule")
}
