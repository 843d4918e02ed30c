// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Branch is the default branch of a repository.
const Branch = "main"

// A Change is what one commit does to the files of a repository.
type Change struct {
	Message string
	// Author is a name and an email address: "Ann <ann@example.com>".
	Author string
	// Branch is the branch; empty means the default one. A new branch begins
	// without files.
	Branch string
	// Files are contents by slash-separated path. An empty one removes the
	// file. Files that are not named stay.
	Files map[string]string
}

// Init creates an empty bare repository, which accepts every push.
func Init(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create a Git repository: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=" + Branch},
		{"config", "http.receivepack", "true"},
	} {
		if _, err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// Commit pushes one commit to a branch of the repository at url, and returns its
// hash. A change of nothing is an error.
func Commit(ctx context.Context, url string, change Change) (hash string, err error) {
	dir, err := os.MkdirTemp("", "lifeline-lab-git-")
	if err != nil {
		return "", fmt.Errorf("cannot commit: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	branch := cmp.Or(change.Branch, Branch)
	if err := checkOut(ctx, dir, url, branch); err != nil {
		return "", err
	}
	if err := write(dir, change.Files); err != nil {
		return "", err
	}
	name, email, ok := strings.Cut(strings.TrimSuffix(change.Author, ">"), " <")
	if !ok {
		return "", fmt.Errorf("cannot commit: author %q: want NAME <EMAIL>", change.Author)
	}
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=" + name, "-c", "user.email=" + email, "commit", "--quiet", "--message=" + change.Message},
		{"push", "--quiet", "origin", "HEAD:refs/heads/" + branch},
	} {
		if _, err := git(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	out, err := git(ctx, dir, "rev-parse", "HEAD")
	return strings.TrimSpace(out), err
}

// checkOut clones the repository at url into dir, and checks out a branch. A new
// one has neither files nor a parent.
func checkOut(ctx context.Context, dir, url, branch string) error {
	// The branch of an empty repository is that of its HEAD.
	if _, err := git(ctx, dir, "clone", "--quiet", url, "."); err != nil || branch == Branch {
		return err
	}
	found, err := git(ctx, dir, "ls-remote", "--heads", "origin", "refs/heads/"+branch)
	if err != nil {
		return err
	}
	switchTo := []string{"switch", "--quiet", branch}
	if found == "" {
		switchTo = []string{"switch", "--quiet", "--orphan", branch}
	}
	_, err = git(ctx, dir, switchTo...)
	return err
}

// write writes files below dir, or removes those that are empty.
func write(dir string, files map[string]string) error {
	for name, content := range files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("cannot commit %q: want a path within the repository", name)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if content == "" {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("cannot commit the removal of %s: %w", name, err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("cannot commit %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("cannot commit %s: %w", name, err)
		}
	}
	return nil
}

// git runs git in dir and returns its stdout.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), isolated()...)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
