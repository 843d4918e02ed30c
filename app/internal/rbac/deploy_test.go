// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// deploy is the folder of the manifests that users apply.
const deploy = "../../../deploy"

// TestChart compares the rules of the chart's ClusterRole with those of lifeline rbac --offline; -update
// rewrites them. Then run make manifests.
func TestChart(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, Options{
		Config: config.Default(), Offered: BuiltIn(), Namespace: "lifeline", Name: "lifeline",
	}); err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(out.String(), "\nrules:\n")
	want, _, _ = strings.Cut(want, "---\n")
	path := filepath.Join(deploy, "helm", "lifeline", "files", "clusterrole.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what lifeline rbac prints; go test ./internal/rbac -run TestChart -update, and make "+
			"manifests: -want +got:\n%s", path, diff)
	}
}

// TestDeploy compares the rights in deploy/ with those of lifeline rbac for the configuration there.
func TestDeploy(t *testing.T) {
	found := 0
	for _, overlay := range overlays(t) {
		t.Run(overlay, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(deploy, overlay, "lifeline.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rights(t, printed(t, string(text))), rights(t, string(text))); diff != "" {
				t.Errorf("the rights are not those that lifeline rbac prints: -want +got:\n%s", diff)
			}
			found++
		})
	}
	if found < 7 {
		t.Errorf("%d overlays were found, want 7 at least", found)
	}
}

// rights are the ServiceAccounts, roles and bindings of the server in manifests, by kind, namespace and name. Those of
// users, and of lifeline discovery, are no part of lifeline rbac.
func rights(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		switch o.GetLabels()["app.kubernetes.io/component"] {
		case "changes", "discovery":
			continue
		}
		if o.GetKind() == "ServiceAccount" || o.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
			out[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o.Object
		}
	}
	return out
}

// printed returns the output of lifeline rbac for the configuration in manifests.
func printed(t *testing.T, manifests string) string {
	t.Helper()
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		var m corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil || m.Kind != "ConfigMap" || m.Name != "lifeline" {
			continue
		}
		c, err := config.Parse([]byte(m.Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Write(&out, Options{
			Config: c, Offered: BuiltIn(), Namespace: "lifeline", Name: "lifeline",
		}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	t.Fatal("there is no ConfigMap lifeline")
	return ""
}
