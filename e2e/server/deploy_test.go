// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeployIsAccepted: the API server accepts all manifests of all overlays in deploy/, without
// unknown fields.
func TestDeployIsAccepted(t *testing.T) {
	const root = "../../deploy"
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	defer bench.MustKubectl(t, "", "delete", "namespace", "lifeline", "--wait=false")
	policies := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "kind: Component") {
			return err
		}
		said := bench.MustKubectl(t, "", "apply", "--dry-run=server", "--validate=strict", "-k", filepath.Dir(path))
		policies += strings.Count(said, "networkpolicy.networking.k8s.io/")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if policies < 7 {
		t.Errorf("%d NetworkPolicies were accepted, want at least 7: one in each overlay", policies)
	}
}
