// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// progress is a sink that concurrent builds may share.
type progress struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *progress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

// TestProgramsOnce builds the smallest program, twice at once.
func TestProgramsOnce(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(CacheEnv, cache)
	var (
		lines progress
		paths [2]map[string]string
		errs  [2]error
		both  sync.WaitGroup
	)
	for i := range paths {
		both.Go(func() { paths[i], errs[i] = Programs(t.Context(), Versions()[0], []string{"etcd"}, &lines) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(lines.text.String(), "built etcd (1 of 1) in "); n != 1 {
		t.Errorf("built %d times, want once:\n%s", n, lines.text.String())
	}
	path := paths[0]["etcd"]
	if path != paths[1]["etcd"] || !strings.HasPrefix(path, filepath.Join(cache, "bin")) {
		t.Errorf("paths: %s and %s, want one in the cache", path, paths[1]["etcd"])
	}
	if out, err := exec.CommandContext(t.Context(), path, "--version").Output(); err != nil ||
		!strings.Contains(string(out), "3.7.") {
		t.Errorf("etcd --version: %s, %v; want 3.7", out, err)
	}

	lines.text.Reset()
	if _, err := Programs(t.Context(), Versions()[0], []string{"etcd"}, &lines); err != nil || lines.text.Len() > 0 {
		t.Errorf("Programs() of built programs: %v, progress %q; want none", err, lines.text.String())
	}
}

func TestProgramsFails(t *testing.T) {
	t.Setenv(CacheEnv, t.TempDir())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	newest := Versions()[0]
	cases := map[string]struct {
		reason string
		ctx    context.Context
		minor  string
		name   string
		want   string
	}{
		"Unknown": {
			reason: "A typo is reported.",
			ctx:    t.Context(),
			minor:  newest,
			name:   "kube-proxy",
			want:   "cannot build kube-proxy: no such program",
		},
		"Canceled": {
			reason: "An impatient user is obeyed.",
			ctx:    canceled,
			minor:  newest,
			name:   "etcd",
			want:   "context canceled",
		},
		"Version": {
			reason: "The error lists the alternatives.", ctx: t.Context(), minor: "1.9", name: "etcd",
			want: `no Kubernetes "1.9" here: want ` + newest + ", ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Programs(tc.ctx, tc.minor, []string{tc.name}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nPrograms(): %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestCompileFails damages a program's name and expects the compiler's words,
// and nothing in the cache.
func TestCompileFails(t *testing.T) {
	cache := t.TempDir()
	path := filepath.Join(cache, "bin", "etcd-x", "broken")
	p := program{name: "broken", source: "etcd", module: "etcd", pkg: "go.etcd.io/etcd/server/v3/no/such/package"}
	if err := writeModule(sourceDir(cache, path), p.module); err != nil {
		t.Fatal(err)
	}
	err := compile(t.Context(), cache, p, path, "broken (1 of 1)", nil, io.Discard)
	for _, want := range []string{
		"cannot build broken in " + filepath.Join(cache, "src", "etcd-x"),
		"no/such/package",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("compile(): %v\nwant %q", err, want)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("a build that failed left %v", left)
	}
}

func TestBinDir(t *testing.T) {
	dir := func(minor, module, toolchain string) string {
		t.Helper()
		programs, err := programsOf(minor)
		if err != nil {
			t.Fatal(err)
		}
		d, err := binDir("/c", module, toolchain, programs)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	newest, older := Versions()[0], Versions()[1]
	one := dir(newest, "kwok", "go1.26.0")
	if one != dir(older, "kwok", "go1.26.0") {
		t.Error("programs of other projects must be the same for each version")
	}
	for what, other := range map[string]string{
		"module":   dir(newest, "etcd", "go1.26.0"),
		"compiler": dir(newest, "kwok", "go1.26.1"),
	} {
		if one == other {
			t.Errorf("another %s must give another directory than %s", what, one)
		}
	}
	if one := dir(newest, "kubernetes-"+newest, "go1.26.0"); one == dir(older, "kubernetes-"+older, "go1.26.0") {
		t.Errorf("another Kubernetes must give another directory than %s", one)
	}
}
