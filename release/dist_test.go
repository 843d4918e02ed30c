// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dist is a release that `make release-test` has built, with the programs that install from it.
type dist struct {
	dir, tools string
	version    string
	url        string // where it is served: each link in it begins with this
	platforms  []string
}

// TestDist serves a release on loopback, and installs each kind of file from there into an empty folder.
func TestDist(t *testing.T) {
	d := dist{
		dir: os.Getenv("LIFELINE_DIST"), tools: os.Getenv("LIFELINE_TOOLS"),
		version: os.Getenv("VERSION"), url: os.Getenv("RELEASE_URL"), platforms: strings.Fields(os.Getenv("PLATFORMS")),
	}
	if d.dir == "" {
		t.Skip("LIFELINE_DIST is not set: make release-test")
	}
	d.serve(t)
	t.Run("checksums", d.checksums)
	t.Run("links", d.links)
	t.Run("install.sh", d.installer)
	t.Run("krew", d.krew)
	t.Run("formula", d.formula)
	t.Run("scoop", d.scoop)
	t.Run("sbom", d.sbom)
	t.Run("deb", d.deb)
	t.Run("rpm", d.rpm)
	t.Run("images", d.images)
	t.Run("chart", d.chart)
}

// serve listens on the address of the links.
func (d dist) serve(t *testing.T) {
	t.Helper()
	u, err := url.Parse(d.url)
	if err != nil || u.Hostname() != "127.0.0.1" {
		t.Fatalf("RELEASE_URL is %s, want http://127.0.0.1:PORT (%v)", d.url, err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatalf("cannot serve the release: %v; set RELEASE_PORT to a free port", err)
	}
	server := httptest.NewUnstartedServer(http.FileServer(http.Dir(d.dir)))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
}

// checksums checks the list with sha256sum, and its signature with openssl, as a user does.
func (d dist) checksums(t *testing.T) {
	d.in(t, d.dir, "sha256sum", "--quiet", "-c", "checksums.txt")
	listed := strings.Count(read(t, filepath.Join(d.dir, "checksums.txt")), "\n")
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	if listed != len(entries)-3 { // the list, the signature and the key
		t.Errorf("checksums.txt has %d of %d files", listed, len(entries)-3)
	}
	verify := []string{"dgst", "-sha256", "-verify", "lifeline.pub", "-signature", "checksums.txt.sig"}
	d.in(t, d.dir, "openssl", append(verify, "checksums.txt")...)
	cmd := exec.CommandContext(t.Context(), "openssl", append(verify, "install.sh")...)
	cmd.Dir = d.dir
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("the signature is of install.sh, too: %s", out)
	}
}

func (d dist) installer(t *testing.T) {
	home := t.TempDir()
	script := filepath.Join(home, "install.sh")
	write(t, script, string(d.get(t, "install.sh")))
	out, err := shell(t.Context(), script, map[string]string{
		"HOME": home, "PATH": os.Getenv("PATH"), "LIFELINE_KEY": filepath.Join(d.dir, "lifeline.pub"),
	})
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	d.check(t, filepath.Join(home, ".local", "bin", "lifeline"))
	d.check(t, filepath.Join(home, ".local", "bin", "kubectl-lifeline"))
}

// check runs a lifeline, and expects the version of the release.
func (d dist) check(t *testing.T, program string) {
	t.Helper()
	if got := d.in(t, t.TempDir(), program, "version"); got != "lifeline "+d.version+"\n" {
		t.Errorf("%s version: %s", program, got)
	}
}

// in runs a program in a folder, and returns what it prints.
func (d dist) in(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v, %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// get downloads a file of the release.
func (d dist) get(t *testing.T, file string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/"+file, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", file, response.Status, err)
	}
	return text
}

func (d dist) tool(name string) string { return filepath.Join(d.tools, name) }

// of are the platforms of one system.
func (d dist) of(system string) []string {
	return slices.DeleteFunc(slices.Clone(d.platforms), func(platform string) bool {
		return !strings.HasPrefix(platform, system+"/")
	})
}

// number is the version without v, with another sign before that of a pre-release, as packages have it.
func (d dist) number(sign string) string {
	return strings.Replace(strings.TrimPrefix(d.version, "v"), "-", sign, 1)
}
