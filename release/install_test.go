// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstall runs install.sh with an empty home, against a server on loopback.
func TestInstall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for Linux and macOS")
	}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dist string)
		env     map[string]string
		uname   string // what a false uname says
		want    string // the error; empty for none
		reason  string
	}{
		"plain": {reason: "the program, and the plugin beside it"},
		"signed": {
			prepare: func(t *testing.T, dist string) { t.Helper(); sign(t, dist) },
			env:     map[string]string{"LIFELINE_KEY": "{dist}/lifeline.pub"},
			reason:  "the signature is of that key",
		},
		"signed by another": {
			prepare: func(t *testing.T, dist string) {
				t.Helper()
				sign(t, dist)
				mine := read(t, filepath.Join(dist, "lifeline.pub"))
				sign(t, dist)
				write(t, filepath.Join(dist, "lifeline.pub"), mine)
			},
			env:    map[string]string{"LIFELINE_KEY": "{dist}/lifeline.pub"},
			want:   "checksums.txt is not of the key",
			reason: "a checksum alone proves nothing about a server",
		},
		"not signed": {
			env:    map[string]string{"LIFELINE_KEY": "/dev/null"},
			want:   "cannot download {url}/checksums.txt.sig",
			reason: "a key that is given is never ignored",
		},
		"changed archive": {
			prepare: func(t *testing.T, dist string) {
				t.Helper()
				file := filepath.Join(dist, archiveName())
				write(t, file, read(t, file)+"x")
			},
			want:   "nothing was installed",
			reason: "the checksum differs",
		},
		"short archive list": {
			prepare: func(t *testing.T, dist string) { t.Helper(); write(t, filepath.Join(dist, "checksums.txt"), "") },
			want:    "does not list " + archiveName(),
			reason:  "no checksum, no installation",
		},
		"no archive": {
			prepare: func(t *testing.T, dist string) {
				t.Helper()
				if err := os.Remove(filepath.Join(dist, archiveName())); err != nil {
					t.Fatal(err)
				}
			},
			want:   "cannot download {url}/" + archiveName(),
			reason: "the error has the address",
		},
		"other system": {
			uname: "SunOS", want: "there is no lifeline for SunOS here", reason: "before any download",
		},
		"no home": {
			env: map[string]string{"HOME": ""}, want: "set INSTALL_DIR", reason: "the error has the way out",
		},
		"folder that is a file": {
			env: map[string]string{"INSTALL_DIR": "/dev/null/bin"}, want: "cannot make /dev/null/bin",
			reason: "the error has the folder",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dist, url := release(t)
			if tt.prepare != nil {
				tt.prepare(t, dist)
			}
			in := strings.NewReplacer("{dist}", dist, "{url}", url)
			env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
			for k, v := range tt.env {
				env[k] = in.Replace(v)
			}
			if tt.uname != "" {
				uname := filepath.Join(home, "false", "uname")
				write(t, uname, "#!/bin/sh\necho "+tt.uname+"\n")
				if err := os.Chmod(uname, 0o700); err != nil {
					t.Fatal(err)
				}
				env["PATH"] = filepath.Join(home, "false") + ":" + env["PATH"]
			}
			output, err := shell(t.Context(), filepath.Join(dist, "install.sh"), env)
			program := filepath.Join(home, ".local", "bin", "lifeline")
			if tt.want != "" {
				if err == nil || !strings.Contains(output, in.Replace(tt.want)) {
					t.Errorf("%s: %v, %s; want an error with %q", tt.reason, err, output, in.Replace(tt.want))
				}
				if _, err := os.Lstat(program); err == nil {
					t.Errorf("%s: there is a program", tt.reason)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v, %s", tt.reason, err, output)
			}
			for _, name := range []string{program, filepath.Join(filepath.Dir(program), "kubectl-lifeline")} {
				got, err := exec.CommandContext(t.Context(), name, "version").Output()
				if string(got) != "lifeline v0.1.0\n" {
					t.Errorf("%s version: %s, %v", name, got, err)
				}
			}
			if !strings.Contains(output, "is not in PATH: export PATH=") {
				t.Errorf("no word about PATH: %s", output)
			}
		})
	}
}

// release packs a small release, and serves it. All its links are to that server.
func release(t *testing.T) (dist, url string) {
	t.Helper()
	var files http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	o := built(t, server.URL)
	files = http.FileServer(http.Dir(o.dist))
	if err := pack(o); err != nil {
		t.Fatal(err)
	}
	return o.dist, server.URL
}

// sign signs the checksums with a new key, as release.sh does.
func sign(t *testing.T, dist string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	sums := filepath.Join(dist, "checksums.txt")
	for _, args := range [][]string{
		{"genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key},
		{"dgst", "-sha256", "-sign", key, "-out", sums + ".sig", sums},
		{"pkey", "-in", key, "-pubout", "-out", filepath.Join(dist, "lifeline.pub")},
	} {
		if out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v, %s", args[0], err, out)
		}
	}
}

// shell runs a script with nothing but env, and returns all that it prints.
func shell(ctx context.Context, script string, env map[string]string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", script)
	cmd.Env = []string{}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}
