// SPDX-License-Identifier: Apache-2.0

// Package build compiles the programs of a lab cluster from pinned Go modules into a cache of the
// user's, once for each set of versions. Package lab runs them.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// heartbeat is the period of a long build's signs of life.
const heartbeat = 20 * time.Second

// CacheEnv names the environment variable that overrides where CacheDir is.
const CacheEnv = "LIFELINE_LAB_CACHE"

// CacheDir returns the directory of everything the lab keeps between runs:
// $LIFELINE_LAB_CACHE, or lifeline-lab in the user's cache directory.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a cache directory, set %s: %w", CacheEnv, err)
	}
	return filepath.Join(dir, "lifeline-lab"), nil
}

// Programs builds those of the named programs that the cache lacks, of Kubernetes in the given
// minor version (one of Versions). It returns the paths of all of them by name. It reports its work
// to progress, if there is any. Concurrent callers, in other processes too, wait for each other.
func Programs(ctx context.Context, minor string, names []string, progress io.Writer) (map[string]string, error) {
	paths, missing, err := lookUp(ctx, minor, names)
	if err != nil || len(missing) == 0 {
		return paths, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, cache, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	missing = slices.DeleteFunc(missing, func(p program) bool {
		return exists(paths[p.name]) // built while we waited for the lock
	})
	if len(missing) > 0 {
		fmt.Fprintln(progress, "reading the sources …")
	}
	packages := make([][]string, len(missing))
	for i, p := range missing {
		src := sourceDir(cache, paths[p.name])
		if err := writeModule(src, p.module); err != nil {
			return nil, err
		}
		packages[i] = packagesOf(ctx, src, p)
	}
	left := newEstimate(time.Now, packages...)
	for i, p := range missing {
		what := fmt.Sprintf("%s (%d of %d)", p.name, i+1, len(missing))
		if p.source == kubernetes {
			what = fmt.Sprintf("%s %s (%d of %d)", p.name, minor, i+1, len(missing))
		}
		if err := compile(ctx, cache, p, paths[p.name], what, left, progress); err != nil {
			return nil, err
		}
		left.built(packages[i])
	}
	return paths, nil
}

// Cached reports whether the cache has all the named programs, so that
// Programs would build nothing.
func Cached(ctx context.Context, minor string, names []string) (bool, error) {
	_, missing, err := lookUp(ctx, minor, names)
	return err == nil && len(missing) == 0, err
}

// lookUp returns the paths of the named programs, and which of those programs
// are not there yet.
func lookUp(ctx context.Context, minor string, names []string) (paths map[string]string, missing []program, err error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, nil, err
	}
	toolchain, err := toolchain(ctx)
	if err != nil {
		return nil, nil, err
	}
	programs, err := programsOf(minor)
	if err != nil {
		return nil, nil, err
	}
	paths = map[string]string{}
	for _, p := range programs {
		if !slices.Contains(names, p.name) {
			continue
		}
		dir, err := binDir(cache, p.module, toolchain, programs)
		if err != nil {
			return nil, nil, err
		}
		paths[p.name] = filepath.Join(dir, p.name)
		if !exists(paths[p.name]) {
			missing = append(missing, p)
		}
	}
	for _, name := range names {
		if paths[name] == "" {
			return nil, nil, fmt.Errorf("cannot build %s: no such program", name)
		}
	}
	return paths, missing, nil
}

// sourceDir is the directory of the pinned module of a program at path.
func sourceDir(cache, path string) string {
	return filepath.Join(cache, "src", filepath.Base(filepath.Dir(path)))
}

// compile builds p into path, by way of a file beside it, so that path is
// there complete or not at all. The module of p must be in its sourceDir.
func compile(
	ctx context.Context, cache string, p program, path, what string, left *estimate, progress io.Writer,
) error {
	src := sourceDir(cache, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot build %s: %w", p.name, err)
	}
	tmp := path + ".building"
	defer os.Remove(tmp)

	var out bytes.Buffer
	args := []string{"build", "-v"}
	if p.tests() {
		args = []string{"test", "-c", "-vet=off"}
	}
	args = append(args, "-trimpath", "-tags", p.tags, "-ldflags", p.ldflags, "-o", tmp, p.pkg)
	cmd := exec.CommandContext(ctx, "go", args...)
	lines := &packageLines{estimate: left, module: p.module, rest: &out}
	cmd.Dir, cmd.Stdout, cmd.Stderr = src, lines, lines
	cmd.Env = environ()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second

	start := time.Now()
	fmt.Fprintf(progress, "building %s …\n", what)
	stop := every(heartbeat, func() {
		fmt.Fprintf(progress, "building %s … %s%s\n", what, time.Since(start).Round(time.Second), left)
	})
	err := cmd.Run()
	stop()
	if err != nil {
		_, _ = out.Write(lines.part)
		return fmt.Errorf("cannot build %s in %s: %w\n%s",
			p.name, src, errors.Join(err, ctx.Err()), lastBytes(out.Bytes(), 4<<10))
	}
	if p.crds.dir != "" {
		if err := extractCRDs(ctx, src, p, CRDs(path)); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("cannot build %s: %w", p.name, err)
	}
	fmt.Fprintf(progress, "built %s in %s\n", what, time.Since(start).Round(time.Second))
	return nil
}

// writeModule puts a pinned module into dir.
func writeModule(dir, module string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write module %s: %w", module, err)
	}
	files, err := moduleFiles(module)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("cannot write module %s: %w", module, err)
		}
	}
	return nil
}

// moduleFiles returns the files of a pinned module by name.
func moduleFiles(module string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for ext, name := range map[string]string{".mod": "go.mod", ".sum": "go.sum", ".go.txt": "main.go"} {
		data, err := fs.ReadFile(modules, "modules/"+module+ext)
		if errors.Is(err, fs.ErrNotExist) && name == "main.go" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read module %s: %w", module, err)
		}
		files[name] = data
	}
	return files, nil
}

// every calls f at the interval until stop is called. stop waits for a running
// f.
func every(interval time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
