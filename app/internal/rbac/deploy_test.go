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
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// deploy is the folder of the manifests that users apply.
const deploy = "../../../deploy"

// TestDeploy compares the rights in deploy/ with the configurations there; -update rewrites them.
func TestDeploy(t *testing.T) {
	base := manifests(t, "base/lifeline.yaml")
	cases := map[string]struct {
		reason, configuration, rights string
		without                       string
	}{
		"base": {reason: "one server", configuration: "base/lifeline.yaml", rights: "base/rbac.yaml"},
		"standby": {
			reason: "what two need beside that", configuration: "standby/config.yaml", rights: "standby/rbac.yaml",
			without: base,
		},

		"webhook": {
			reason: "what a certificate of its own needs beside that", configuration: "webhook/config.yaml",
			rights: "webhook/rbac.yaml", without: base,
		},

		"collectors on nodes": {
			reason: "to receive spans takes no right", configuration: "collector/daemonset/lifeline.yaml",
			rights: "base/rbac.yaml",
		},
		"collector as sidecar": {
			reason: "to receive spans takes no right", configuration: "collector/sidecar/lifeline.yaml",
			rights: "base/rbac.yaml",
		},
		"collector as gateway": {
			reason: "it is two servers", configuration: "collector/gateway/lifeline.yaml", rights: "standby/rbac.yaml",
			without: base,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := manifests(t, tc.configuration)
			if tc.without != "" {
				want = beside(want, tc.without)
			}
			path := filepath.Join(deploy, tc.rights)
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
				t.Errorf("%s: %s is not what lifeline rbac prints; go test ./internal/rbac -run TestDeploy -update: "+
					"-want +got:\n%s", tc.reason, path, diff)
			}
		})
	}
}

// beside returns the documents of all that are not in without.
func beside(all, without string) string {
	var out strings.Builder
	out.WriteString("# What lifeline rbac prints for this configuration beside base/rbac.yaml.\n")
	for doc := range strings.SplitSeq(all, "\n---\n") {
		doc = strings.TrimSuffix(doc, "\n")
		if strings.HasPrefix(doc, "apiVersion:") && !strings.Contains(without, doc) {
			out.WriteString("---\n" + doc + "\n")
		}
	}
	return out.String()
}

// manifests returns the rights for the server of a manifest in deploy/.
func manifests(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, file))
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var m corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil || m.Kind != "ConfigMap" {
			continue
		}
		c, err := config.Parse([]byte(m.Data["config.yaml"]))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var out bytes.Buffer
		if err := Write(&out, Options{
			Config: c, Offered: BuiltIn(), Namespace: "lifeline", Name: "lifeline",
		}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	t.Fatalf("there is no ConfigMap in %s", file)
	return ""
}
