// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/santhosh-tekuri/jsonschema/v6"
	rpm "github.com/sassoftware/go-rpmutils"
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
	d.in(t, index, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "-m", "empty")
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

// deb installs the package with dpkg into an empty folder.
func (d dist) deb(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("there is no dpkg")
	}
	file := filepath.Join(t.TempDir(), "lifeline.deb")
	write(t, file, string(d.get(t, fmt.Sprintf("lifeline_%s_%s.deb", d.number("~"), runtime.GOARCH))))
	root := t.TempDir()
	if os.Geteuid() == 0 {
		for _, dir := range []string{"info", "updates", "triggers"} {
			write(t, filepath.Join(root, "var", "lib", "dpkg", dir, ".keep"), "")
		}
		write(t, filepath.Join(root, "var", "lib", "dpkg", "status"), "")
		d.in(t, root, "dpkg", "--root="+root, "--install", file)
		if got := d.in(t, root, "dpkg", "--root="+root, "--status", "lifeline"); !strings.Contains(got, "install ok") {
			t.Errorf("dpkg --status: %s", got)
		}
	} else {
		d.in(t, root, "dpkg", "-x", file, root)
	}
	d.checkRoot(t, root)
	if got := d.in(t, root, "dpkg-deb", "--ctrl-tarfile", file); strings.Contains(got, "postinst") {
		t.Error("the package runs a script at its installation")
	}
}

// rpm unpacks the package into an empty folder.
func (d dist) rpm(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	packed, err := rpm.ReadRpm(bytes.NewReader(d.get(t, fmt.Sprintf("lifeline-%s-1.%s.rpm", d.number("~"), arch))))
	if err != nil {
		t.Fatal(err)
	}
	if scripts, err := packed.Header.GetString(rpm.POSTIN); err == nil {
		t.Errorf("the package runs a script at its installation: %s", scripts)
	}
	root := t.TempDir()
	if err := packed.ExpandPayload(root); err != nil {
		t.Fatal(err)
	}
	files, err := packed.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files { // the library writes files without their modes
		if mode := os.FileMode(f.Mode() & 0o777); f.Mode()&0o170000 == 0o100000 {
			if err := os.Chmod(filepath.Join(root, f.Name()), mode); err != nil {
				t.Error(err)
			}
		}
	}
	d.checkRoot(t, root)
}

// checkRoot checks the files of a package: what a user expects is there, and nothing is enabled.
func (d dist) checkRoot(t *testing.T, root string) {
	t.Helper()
	d.check(t, filepath.Join(root, "usr", "bin", "lifeline"))
	if got, err := os.Readlink(filepath.Join(root, "usr", "bin", "kubectl-lifeline")); err != nil ||
		path.Base(got) != "lifeline" {
		t.Errorf("kubectl-lifeline is a link to %q, %v", got, err)
	}
	for _, file := range []string{
		"etc/lifeline/config.yaml", "usr/lib/systemd/system/lifeline.service",
		"usr/share/bash-completion/completions/lifeline", "usr/share/zsh/vendor-completions/_lifeline",
		"usr/share/fish/vendor_completions.d/lifeline.fish", "usr/share/doc/lifeline/copyright",
	} {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if pages, _ := filepath.Glob(filepath.Join(root, "usr", "share", "man", "man1", "lifeline-*.1*")); len(pages) < 15 {
		t.Errorf("there are %d manual pages", len(pages))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "usr", "bin", "lifeline"), "serve", "--kubeconfig=/dev/null",
		"--config="+filepath.Join(root, "etc", "lifeline", "config.yaml"), "--data-dir="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "kubeconfig") {
		t.Errorf("the configuration of the package: %v, %s; want an error about the kubeconfig", err, out)
	}
	_ = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(filepath.Dir(file), ".wants") {
			t.Errorf("%s enables the service", file)
		}
		return err
	})
}

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
			if want := "@" + descriptor.Digest.String() + "\n"; !strings.Contains(read(t, filepath.Join(d.dir, "images.txt")), want) {
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
	return slices.DeleteFunc(slices.Clone(d.platforms), func(p string) bool { return !strings.HasPrefix(p, system+"/") })
}

// number is the version without v, with another sign before that of a pre-release, as packages have it.
func (d dist) number(sign string) string {
	return strings.Replace(strings.TrimPrefix(d.version, "v"), "-", sign, 1)
}
