// SPDX-License-Identifier: Apache-2.0

// Package program builds and runs programs for the tests. Those of other projects, such as
// a backend or a Collector, are compiled from pinned modules into the lab's cache, once for each set of versions.
package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Source is where a program comes from.
type Source struct {
	// Name names its directories in the cache.
	Name string
	// What is what a message calls it: a module and its version.
	What string
	// Files are those of the module that it is compiled in, by name. They
	// decide, with the compiler, whether what is in the cache is still it.
	Files map[string][]byte
	// Compile puts the program, and what belongs to it, into w.Out.
	Compile func(ctx context.Context, w Workshop) error
}

// Workshop is where a program is compiled.
type Workshop struct {
	// Module is the directory that holds the files, Out the one that is kept.
	Module, Out string
}

// Build compiles the program, if the cache lacks it, and returns the directory
// in which it is. The cache is the lab's ($LIFELINE_LAB_CACHE). say gets a line
// when a build begins and ends.
func (s Source) Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	cache, name, err := s.place(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin", name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	start := time.Now()
	say("building %s …", s.What)
	if err := s.install(ctx, filepath.Join(cache, "src", name), dir); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", s.What, err)
	}
	say("built it in %s", time.Since(start).Round(time.Second))
	return dir, nil
}

// Cached reports whether Build would find it built.
func (s Source) Cached(ctx context.Context) (bool, error) {
	cache, name, err := s.place(ctx)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(cache, "bin", name))
	return err == nil, nil
}

// place returns the cache, and what the program's directories in it are called:
// a name of everything that goes into it.
func (s Source) place(ctx context.Context) (cache, name string, err error) {
	if cache, err = cacheDir(); err != nil {
		return "", "", err
	}
	toolchain, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", "", fmt.Errorf("cannot ask go for its version (is it in PATH?): %w", err)
	}
	hash := sha256.New()
	hash.Write(toolchain)
	for _, file := range s.names() {
		hash.Write(s.Files[file])
	}
	return cache, s.Name + "-" + hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func (s Source) names() []string {
	var out []string
	for name := range s.Files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// cacheDir is the lab's.
func cacheDir() (string, error) {
	if dir := os.Getenv("LIFELINE_LAB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a cache directory, set LIFELINE_LAB_CACHE: %w", err)
	}
	return filepath.Join(dir, "lifeline-lab"), nil
}

// install puts the program into dir. It renames a complete directory beside dir,
// so dir is never incomplete. If two installs race, both use the first one's
// program.
func (s Source) install(ctx context.Context, src, dir string) error {
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	for _, name := range s.names() {
		if err := os.WriteFile(filepath.Join(src, name), s.Files[name], 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := s.Compile(ctx, Workshop{Module: src, Out: tmp}); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// GoBuild compiles a main package as the module in dir has it, into the file
// program of w.Out.
func (w Workshop) GoBuild(ctx context.Context, dir, pkg, program string) error {
	_, err := Go(ctx, dir, "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(w.Out, program), pkg)
	return err
}

// Source returns the directory in which the source of a module is that the
// pinned one requires.
func (w Workshop) Source(ctx context.Context, module string) (string, error) {
	if _, err := Go(ctx, w.Module, "mod", "download", module); err != nil {
		return "", err
	}
	return Go(ctx, w.Module, "list", "-m", "-f", "{{.Dir}}", module)
}

// Go runs go in dir, apart from any workspace, and returns what it prints.
func Go(ctx context.Context, dir string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaint
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	// Interrupted, go ends its compilers before itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, complaint.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}
