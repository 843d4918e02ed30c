// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// images pulls each image from a registry that has the OCI layout, and runs it as its user.
func (d dist) images(t *testing.T) {
	host := d.registry(t)
	for program, output := range map[string]string{
		"lifeline": "lifeline " + d.version + "\n", "lifeline-scheduler": "Kubernetes v1.",
		"lifeline-csi-proxy": "-driver", "lifeline-device-proxy": "lifeline-device-proxy",
	} {
		t.Run(program, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "image.tar")
			write(t, file, string(d.get(t, fmt.Sprintf("%s_%s_image.tar", program, d.number("-")))))
			index, descriptor := openImage(t, file)
			ref, err := name.ParseReference(host + "/" + program + ":" + d.number("-"))
			if err != nil {
				t.Fatal(err)
			}
			if err := remote.WriteIndex(ref, index); err != nil {
				t.Fatal(err)
			}
			digests := read(t, filepath.Join(d.dir, "images.txt"))
			if want := "@" + descriptor.Digest.String() + "\n"; !strings.Contains(digests, want) {
				t.Errorf("images.txt does not have %s", want)
			}
			for _, platform := range d.of("linux") {
				arch := path.Base(platform)
				image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
				if err != nil {
					t.Fatal(err)
				}
				if arch == runtime.GOARCH && runtime.GOOS == "linux" && os.Geteuid() == 0 {
					got := runImage(t, image)
					if !strings.Contains(got, output) {
						t.Errorf("the program prints %q, want %q in it", got, output)
					}
				}
			}
		})
	}
}

// chart pulls the chart with helm from a registry and from the server, and renders it.
func (d dist) chart(t *testing.T) {
	number := d.number("-")
	layout := filepath.Join(d.dir, fmt.Sprintf("lifeline-chart_%s_oci.tar", number))
	if _, err := os.Stat(layout); err != nil {
		t.Skip("the release has no chart: deploy/helm/lifeline is absent")
	}
	host := d.registry(t)
	file := filepath.Join(t.TempDir(), "chart.tar")
	write(t, file, string(d.get(t, filepath.Base(layout))))
	image, _ := openChart(t, file)
	ref, err := name.ParseReference(host + "/charts/lifeline:" + number)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	d.in(t, home, d.tool("helm"), "pull", "oci://"+host+"/charts/lifeline", "--version", number, "--plain-http")
	pulled := read(t, filepath.Join(home, "lifeline-"+number+".tgz"))
	if pulled != read(t, filepath.Join(d.dir, "lifeline-"+number+".tgz")) {
		t.Error("the chart of the registry is another")
	}
	got := d.in(t, home, d.tool("helm"), "template", "lifeline", d.url+"/lifeline-"+number+".tgz")
	if want := "/lifeline:" + number; !strings.Contains(got, want) {
		t.Errorf("the chart does not have the image …%s", want)
	}
}

// registry is one on loopback, in memory.
func (d dist) registry(t *testing.T) (host string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// runImage runs the program of an image with --help as its last argument, as its user, on its files alone.
func runImage(t *testing.T, image v1.Image) string {
	t.Helper()
	root, err := os.MkdirTemp("", "image-") // a folder of t is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(image)
	untar(t, content, root)
	_ = content.Close()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return runAlone(t, root, file.Config)
}
