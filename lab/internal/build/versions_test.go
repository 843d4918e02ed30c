// SPDX-License-Identifier: Apache-2.0

package build

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReleasesArePinned holds the versions that programs report against those
// that they are built from.
func TestReleasesArePinned(t *testing.T) {
	var want []string
	for _, minor := range Versions() {
		release, err := Release(minor)
		if err != nil {
			t.Fatal(err)
		}
		name := "modules/kubernetes-" + minor + ".mod"
		want = append(want, name)
		isPinned(t, name, release)
	}
	isPinned(t, "modules/upstream-"+Versions()[0]+".mod", releases[0])
	got, err := fs.Glob(modules, "modules/kubernetes-*.mod")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("modules: %v, want one for each version: %v", got, want)
	}
}

// isPinned checks that a module has all parts of Kubernetes in the version of the release.
func isPinned(t *testing.T, name, release string) {
	t.Helper()
	data, err := fs.ReadFile(modules, name)
	if err != nil {
		t.Fatal(err)
	}
	staging := "v0." + strings.TrimPrefix(release, "v1.")
	for _, line := range []string{"k8s.io/kubernetes " + release, "k8s.io/api => k8s.io/api " + staging} {
		if !strings.Contains(string(data), "\t"+line) {
			t.Errorf("%s does not pin %s", name, line)
		}
	}
	for line := range strings.Lines(string(data)) {
		if _, to, ok := strings.Cut(line, "=>"); ok && !strings.HasSuffix(strings.TrimSpace(to), " "+staging) {
			t.Errorf("%s: %q is of another version than %s", name, strings.TrimSpace(line), staging)
		}
	}
}

// TestVersionsAreDocumented: docs/versions.md names each version that the tests run on, and no other.
func TestVersionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`v1\.\d+\.\d+`).FindAllString(string(text), -1)
	if !slices.Equal(got, releases) {
		t.Errorf("docs/versions.md has the versions %v, want %v", got, releases)
	}
}

func TestVersionsAreDescending(t *testing.T) {
	// Two digits each, so that the order of strings is the one of numbers.
	if v := Versions(); !slices.IsSortedFunc(v, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("Versions(): %v, want the newest first", v)
	}
}

func TestReleaseOfNone(t *testing.T) {
	for _, minor := range []string{"", "1", "v1.36", "1.36.3", "1.9"} {
		if r, err := Release(minor); err == nil {
			t.Errorf("Release(%q): %s, want an error", minor, r)
		}
	}
}
