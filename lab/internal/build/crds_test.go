// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExtractCRDs(t *testing.T) {
	src := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                         "module example.com/x\n",
		"deploy/crds/example.com_x.yaml": "kind: CustomResourceDefinition\n",
		"deploy/crds/kustomization.yaml": "kind: Kustomization\n",
		"deploy/none/README.md":          "",
	} {
		path := filepath.Join(src, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to := CRDs(filepath.Join(t.TempDir(), "x"))
	p := program{name: "x", crds: crds{"example.com/x", "deploy/crds"}}
	for range 2 { // the second one replaces the first
		if err := extractCRDs(t.Context(), src, p, to); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(to)
	if err != nil || len(files) != 1 || files[0].Name() != "example.com_x.yaml" {
		t.Errorf("extracted %v, %v; want example.com_x.yaml alone", files, err)
	}

	for dir, want := range map[string]string{
		"deploy/none": "cannot find the CustomResourceDefinitions of x in ",
		"no/such":     "cannot find the CustomResourceDefinitions of x in ",
	} {
		p.crds.dir = dir
		if err := extractCRDs(t.Context(), src, p, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("extractCRDs() from %s: %v, want %q", dir, err, want)
		}
	}
	p.crds.module = "example.com/y"
	err = extractCRDs(t.Context(), src, p, to)
	if want := "cannot find the module of x"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("extractCRDs() of an unknown module: %v, want %q", err, want)
	}
}
