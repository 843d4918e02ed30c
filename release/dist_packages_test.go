// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	rpm "github.com/sassoftware/go-rpmutils"
)

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
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "usr", "bin", "lifeline"), "serve",
		"--kubeconfig=/dev/null", "--config="+filepath.Join(root, "etc", "lifeline", "config.yaml"),
		"--data-dir="+t.TempDir())
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
