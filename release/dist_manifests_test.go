// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var link = regexp.MustCompile(`https?://[^\s"'@<>]+\.(?:tar\.gz|zip|deb|rpm|tgz|tar)`)

// links checks that each link of a manifest is below RELEASE_URL and is served, and that the checksum beside it is
// that of the file.
func (d dist) links(t *testing.T) {
	windows := len(d.of("windows"))
	for file, want := range map[string]int{
		"lifeline.yaml": len(d.platforms), "lifeline.rb": len(d.platforms) - windows, "lifeline.json": windows,
	} {
		if want == 0 {
			continue
		}
		text := read(t, filepath.Join(d.dir, file))
		links := link.FindAllString(text, -1)
		if len(links) != want {
			t.Errorf("%s has %d links, want %d", file, len(links), want)
		}
		for _, l := range links {
			if l != d.url+"/"+path.Base(l) {
				t.Errorf("%s: %s is not below %s", file, l, d.url)
			}
			sum, err := checksum(filepath.Join(d.dir, path.Base(l)))
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(text, sum) {
				t.Errorf("%s does not have the checksum of %s", file, l)
			}
		}
	}
}

// krew checks the manifest with krew's validation, and installs the plugin of each platform.
func (d dist) krew(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "lifeline.yaml")
	write(t, manifest, string(d.get(t, "lifeline.yaml")))
	d.in(t, dir, d.tool("validate-krew-manifest"), "-manifest", manifest, "-skip-install")
	index := filepath.Join(dir, "index") // krew wants one, and the default one is far away
	write(t, filepath.Join(index, "plugins", ".keep"), "")
	d.in(t, index, "git", "init", "--quiet")
	d.in(t, index, "git", "add", ".")
	author := []string{"-c", "user.name=test", "-c", "user.email=test@example.com"}
	d.in(t, index, "git", append(author, "commit", "--quiet", "-m", "empty")...)
	for _, platform := range d.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		root := filepath.Join(dir, system+arch)
		cmd := exec.CommandContext(t.Context(), d.tool("krew"), "install", "--manifest-url", d.url+"/lifeline.yaml")
		cmd.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_OS="+system, "KREW_ARCH="+arch,
			"KREW_NO_UPGRADE_CHECK=1", "KREW_DEFAULT_INDEX_URI="+index)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("krew install for %s: %v, %s", platform, err, out)
		}
		if platform == runtime.GOOS+"/"+runtime.GOARCH {
			d.check(t, filepath.Join(root, "bin", "kubectl-lifeline"))
		}
	}
}

func (d dist) formula(t *testing.T) {
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("there is no ruby: apt-get install ruby")
	}
	if got := d.in(t, d.dir, ruby, "-c", "lifeline.rb"); !strings.Contains(got, "Syntax OK") {
		t.Errorf("ruby -c: %s", got)
	}
}

// scoop holds the manifest to the schema of Scoop.
func (d dist) scoop(t *testing.T) {
	if len(d.of("windows")) == 0 {
		t.Skip("the release is not for Windows")
	}
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile("testdata/scoop.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.get(t, "lifeline.json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(manifest); err != nil {
		t.Error(err)
	}
}

// sbom checks that each binary has a list of its modules.
func (d dist) sbom(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(d.dir, "*.cdx.json"))
	if want := len(programs) * len(d.platforms); err != nil || len(files) != want {
		t.Errorf("there are %d lists, want %d", len(files), want)
	}
	for _, file := range files {
		var list struct {
			BomFormat, SerialNumber string
			Metadata                struct {
				Timestamp string
				Component struct{ Version string }
			}
			Components []struct{ Name, Version string }
		}
		if err := json.Unmarshal([]byte(read(t, file)), &list); err != nil {
			t.Fatal(err)
		}
		if list.BomFormat != "CycloneDX" || len(list.Components) < 10 || list.Metadata.Component.Version != d.version {
			t.Errorf("%s: %s of %q with %d components",
				filepath.Base(file), list.BomFormat, list.Metadata.Component.Version, len(list.Components))
		}
		if list.SerialNumber != "" || list.Metadata.Timestamp != "" {
			t.Errorf("%s changes with each build", filepath.Base(file))
		}
	}
}
