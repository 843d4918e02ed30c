// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestEqual packs the same input twice, from files with other times and modes.
func TestEqual(t *testing.T) {
	var sums [2]string
	for i := range sums {
		o := built(t, "http://127.0.0.1:1")
		age(t, o.built, time.Duration(i)*time.Hour)
		if err := pack(o); err != nil {
			t.Fatal(err)
		}
		sums[i] = read(t, filepath.Join(o.dist, "checksums.txt"))
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("two releases of the same input differ:\n%s", diff)
	}
	var names []string
	for line := range strings.Lines(sums[0]) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		names = append(names, name)
	}
	want := []string{
		"images.txt", "install.sh", "lifeline-0.1.0.tgz", "lifeline-chart_0.1.0_oci.tar",
		archiveName(), "lifeline_0.1.0_image.tar",
	}
	if archiveName() > "lifeline_0.1.0_image.tar" {
		want[4], want[5] = want[5], want[4]
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files of the release (-want +got):\n%s", diff)
	}
}

func TestTwoFilesOfOneName(t *testing.T) {
	o := built(t, "http://127.0.0.1:1")
	write(t, filepath.Join(o.built, "other", "install.sh"), "x")
	addArtifact(t, o.built, artifact{Path: filepath.Join(o.built, "other", "install.sh"), Type: "Archive"})
	if err := pack(o); err == nil || !strings.Contains(err.Error(), "two files") {
		t.Errorf("pack() = %v, want an error about two files", err)
	}
}

func TestFullFolder(t *testing.T) {
	o := built(t, "http://127.0.0.1:1")
	write(t, filepath.Join(o.dist, "old"), "x")
	if err := pack(o); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("pack() = %v, want an error about a folder that is not empty", err)
	}
}

func TestImage(t *testing.T) {
	o := built(t, "http://127.0.0.1:1")
	if err := pack(o); err != nil {
		t.Fatal(err)
	}
	index, descriptor := openImage(t, filepath.Join(o.dist, "lifeline_0.1.0_image.tar"))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if got := descriptor.Annotations["io.containerd.image.name"]; got != "registry.test/lifeline:0.1.0" {
		t.Errorf("the image has the name %q", got)
	}
	if got, want := read(t, filepath.Join(o.dist, "images.txt")),
		fmt.Sprintf("registry.test/lifeline:0.1.0@%s\n", descriptor.Digest); got != want {
		t.Errorf("images.txt is %q, want %q", got, want)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, m.Platform.Architecture)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// checkImage checks what the restricted Pod Security and a read-only root require, and the roots of certificates.
func checkImage(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []any{file.Config.User, file.Config.Entrypoint, file.Config.Cmd, file.Architecture, len(file.Config.Volumes)}
	want := []any{"65532:65532", []string{"/lifeline"}, []string{"serve"}, arch, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	files := map[string]string{}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err != nil {
			break
		}
		if header.Mode&0o6022 != 0 || header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s has mode %o and owner %d:%d", header.Name, header.Mode, header.Uid, header.Gid)
		}
		text, _ := io.ReadAll(r)
		files[strings.TrimSuffix(header.Name, "/")] = string(text)
	}
	if files["lifeline"] != "program "+arch {
		t.Errorf("the program is %q", files["lifeline"])
	}
	if !strings.Contains(files["usr/share/doc/lifeline/LICENSE"], "Apache License") {
		t.Error("the image has no licence")
	}
	count := 0
	for rest := []byte(files["etc/ssl/certs/ca-certificates.crt"]); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if count < 100 {
		t.Errorf("there are %d roots, want more than 100", count)
	}
}

func TestChart(t *testing.T) {
	o := built(t, "http://127.0.0.1:1")
	if err := pack(o); err != nil {
		t.Fatal(err)
	}
	image, descriptor := openChart(t, filepath.Join(o.dist, "lifeline-chart_0.1.0_oci.tar"))
	if got := descriptor.Annotations["io.containerd.image.name"]; got != "registry.test/charts/lifeline:0.1.0" {
		t.Errorf("the chart has the name %q", got)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfig || len(manifest.Layers) != 1 ||
		manifest.Layers[0].MediaType != chartContent {
		t.Errorf("manifest of the chart: %+v", manifest)
	}
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(config); got != `{"apiVersion":"v2","name":"lifeline","version":"0.1.0"}` {
		t.Errorf("configuration of the chart: %s", got)
	}
	archive := read(t, filepath.Join(o.dist, "lifeline-0.1.0.tgz"))
	hash, _, _ := v1.SHA256(strings.NewReader(archive))
	if manifest.Layers[0].Digest != hash {
		t.Error("the layer of the chart is not the archive of the chart")
	}
	var names []string
	plain, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if err != nil {
			break
		}
		if header.Typeflag == tar.TypeReg {
			names = append(names, header.Name)
		}
	}
	want := []string{"lifeline/Chart.yaml", "lifeline/templates/a.yaml", "lifeline/values.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files of the chart (-want +got):\n%s", diff)
	}
}

// openImage reads the index in a tar of an OCI layout, and its descriptor.
func openImage(t *testing.T, file string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	top, descriptor := openLayout(t, file)
	index, err := top.ImageIndex(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index, descriptor
}

func openChart(t *testing.T, file string) (v1.Image, v1.Descriptor) {
	t.Helper()
	top, descriptor := openLayout(t, file)
	image, err := top.Image(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, descriptor
}

func openLayout(t *testing.T, file string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	dir := t.TempDir()
	untar(t, strings.NewReader(read(t, file)), dir)
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%s has %d images, want one", file, len(manifest.Manifests))
	}
	return top, manifest.Manifests[0]
}

// built returns options for a small release, as GoReleaser leaves it: the archive for this machine has a script in
// place of the program.
func built(t *testing.T, url string) options {
	t.Helper()
	dir := t.TempDir()
	o := options{
		built: filepath.Join(dir, "built"), dist: filepath.Join(dir, "dist"), source: "..",
		chart:   filepath.Join(dir, "lifeline-0.1.0.tgz"),
		version: "v0.1.0", revision: "4bf92f35", url: url, registry: "registry.test",
		created: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
	}
	for _, arch := range []string{"arm64", "amd64"} {
		file := filepath.Join(o.built, arch, "lifeline")
		write(t, file, "program "+arch)
		a := artifact{Name: "lifeline", Path: file, Type: "Binary", Goos: "linux", Goarch: arch}
		a.Extra.Binary = "lifeline"
		addArtifact(t, o.built, a)
	}
	archive := filepath.Join(o.built, archiveName())
	writeArchive(t, archive, time.Unix(0, 0),
		entry{name: "lifeline", mode: 0o755, text: []byte("#!/bin/sh\necho lifeline v0.1.0\n")})
	addArtifact(t, o.built, artifact{Name: archiveName(), Path: archive, Type: "Archive"})
	writeArchive(t, o.chart, time.Now(),
		entry{name: "lifeline/values.yaml", text: []byte("{}\n")},
		entry{name: "lifeline/templates/a.yaml", text: []byte("a: b\n")},
		entry{name: "lifeline/Chart.yaml", text: []byte("apiVersion: v2\nname: lifeline\nversion: 0.1.0\n")})
	return o
}

// archiveName is the name of the archive for this machine.
func archiveName() string {
	return fmt.Sprintf("lifeline_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
}

func addArtifact(t *testing.T, dir string, a artifact) {
	t.Helper()
	file := filepath.Join(dir, "artifacts.json")
	var all []artifact
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(append(all, a))
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text))
}

func writeArchive(t *testing.T, file string, when time.Time, entries ...entry) {
	t.Helper()
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if err := writeTar(w, when, entries); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, file, text.String())
}

// age makes all files in dir older, and readable for their owner only.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	when := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(-by)
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if by > 0 {
			if err := os.Chmod(file, 0o600); err != nil {
				return err
			}
		}
		return os.Chtimes(file, when, when)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// untar unpacks files and folders below dir.
func untar(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Clean("/"+header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(file, 0o755)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				write(t, file, string(text))
				err = os.Chmod(file, os.FileMode(header.Mode).Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
