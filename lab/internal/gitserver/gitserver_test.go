// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
	"github.com/kube-lifeline/lifeline/lab/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const author = "Ann <ann@example.com>"

// start runs the server as the process that it is in a cluster, and returns the
// URL of an empty repository.
func start(t *testing.T) string {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip("SKIP:", err)
	}
	dir := t.TempDir()
	if err := Init(t.Context(), filepath.Join(dir, "repos", "app.git")); err != nil {
		t.Fatal(err)
	}
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", free[0])
	spec, err := Spec(address, filepath.Join(dir, "repos"), filepath.Join(dir, "git.log"))
	if err != nil {
		t.Fatal(err)
	}
	group := process.NewGroup(dir, false)
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := group.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(t.Context(), func(ctx context.Context) error { return Ready(ctx, address) }); err != nil {
		t.Fatal(err)
	}
	return "http://" + address + "/app.git"
}

func TestCommit(t *testing.T) {
	url := start(t)
	steps := []Change{
		{Message: "two files", Author: author, Files: map[string]string{"a/x": "1\n", "y": "1\n"}},
		{Message: "another x", Author: author, Files: map[string]string{"a/x": "2\n"}},
		{Message: "no y", Author: author, Files: map[string]string{"y": ""}},
	}
	var hashes []string
	for _, change := range steps {
		hash, err := Commit(t.Context(), url, change)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append([]string{hash}, hashes...)
	}
	clone := t.TempDir()
	if _, err := git(t.Context(), clone, "clone", "--quiet", url, "."); err != nil {
		t.Fatal(err)
	}
	log, err := git(t.Context(), clone, "log", "--format=%H")
	if err != nil || strings.TrimSpace(log) != strings.Join(hashes, "\n") {
		t.Errorf("git log: %q, %v; want the hashes that Commit returned, %q", log, err, hashes)
	}
	last, err := git(t.Context(), clone, "log", "--max-count=1", "--format=%an <%ae>: %s", Branch)
	if want := author + ": no y\n"; err != nil || last != want {
		t.Errorf("last commit: %q, %v; want %q", last, err, want)
	}
	files, err := git(t.Context(), clone, "ls-files")
	if err != nil || files != "a/x\n" {
		t.Errorf("files: %q, %v; want a/x alone", files, err)
	}
	if x, err := os.ReadFile(filepath.Join(clone, "a", "x")); err != nil || string(x) != "2\n" {
		t.Errorf("a/x: %q, %v; want the second content", x, err)
	}
}

// TestBranch: a new branch begins without files, and no branch changes another.
func TestBranch(t *testing.T) {
	url := start(t)
	for _, change := range []Change{
		{Branch: "b", Files: map[string]string{"x": "1\n"}},
		{Files: map[string]string{"y": "1\n"}},
		{Branch: "b", Files: map[string]string{"z": "1\n"}},
		{Branch: "c", Files: map[string]string{"v": "1\n"}},
	} {
		change.Message, change.Author = "m", author
		if _, err := Commit(t.Context(), url, change); err != nil {
			t.Fatal(err)
		}
	}
	clone := t.TempDir()
	if _, err := git(t.Context(), clone, "clone", "--quiet", url, "."); err != nil {
		t.Fatal(err)
	}
	for branch, want := range map[string]string{"b": "x\nz\n", Branch: "y\n", "c": "v\n"} {
		files, err := git(t.Context(), clone, "ls-tree", "--name-only", "origin/"+branch)
		if err != nil || files != want {
			t.Errorf("files of branch %s: %q, %v; want %q", branch, files, err, want)
		}
	}
}

func TestCommitFails(t *testing.T) {
	url := start(t)
	cases := map[string]struct {
		reason string
		change Change
		want   string
	}{
		"Outside": {
			reason: "A repository does not write beside itself.",
			change: Change{Message: "m", Author: author, Files: map[string]string{"../x": "1"}},
			want:   `cannot commit "../x"`,
		},
		"Author": {
			reason: "Git wants a name and an address.",
			change: Change{Message: "m", Author: "ann", Files: map[string]string{"x": "1"}},
			want:   `author "ann": want NAME <EMAIL>`,
		},
		"NoSuchFile": {
			reason: "A removal has something to remove.",
			change: Change{Message: "m", Author: author, Files: map[string]string{"x": ""}},
			want:   "cannot commit the removal of x",
		},
		"Nothing": {
			reason: "An empty commit is a mistake of the test.",
			change: Change{Message: "m", Author: author},
			want:   "git -c user.name=Ann",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Commit(t.Context(), url, tc.change)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nCommit(): %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
