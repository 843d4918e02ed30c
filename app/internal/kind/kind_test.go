// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestAll compares the list of kinds with the files: a kind in a file is known,
// under its own name.
func TestAll(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^var (\w+) = Kind\{`)
	known := map[string]*Kind{}
	for _, k := range All() {
		known[k.Kind.Kind] = k
		if k.Resource == "" || k.Version == "" || Of(k.Group, k.Kind.Kind) != k ||
			OfResource(k.Group, k.Resource) != k {
			t.Errorf("%s is not complete: %+v", k.Kind, *k)
		}
	}
	n := 0
	for _, f := range files {
		if f.IsDir() || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			n++
			if known[m[1]] == nil || f.Name() != strings.ToLower(m[1])+".go" {
				t.Errorf("kind %s of %s is not in the list, or not in the file of its name", m[1], f.Name())
			}
		}
	}
	if n != len(All()) {
		t.Errorf("%d kinds in files, %d in the list", n, len(All()))
	}
}

// TestOf: the version does not count, the group does.
func TestOf(t *testing.T) {
	if k := Of("apps", "Deployment"); k != &Deployment ||
		!k.Is(object.Kind{Group: "apps", Version: "v9", Kind: "Deployment"}) {
		t.Errorf("got %+v", *k)
	}
	if k := Of("example.com", "Deployment"); k.Controller != "" || k.Is(Deployment.Kind) {
		t.Errorf("a kind of another group: %+v", *k)
	}
}
