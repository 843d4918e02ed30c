// SPDX-License-Identifier: Apache-2.0

// Package agentsandbox builds and runs the controller of the Kubernetes
// agent-sandbox project, unchanged: an operator that carries a trace context in
// the annotation opentelemetry.io/trace-context. What its objects and spans
// should look like is for the tests to say.
package agentsandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Version is what is built.
const Version = "v0.4.6"

const (
	module  = "sigs.k8s.io/agent-sandbox"
	program = "agent-sandbox-controller"
	// crds is where the definitions of its kinds are, in its module and beside
	// the program.
	crds = "crds"
)

// pinned is its go.mod and go.sum here: a module that has it as a tool. (A
// directory with a go.mod cannot be embedded.)
//
//go:embed agent-sandbox.mod agent-sandbox.sum
var pinned embed.FS

// Build compiles the controller from its published module and returns the
// directory of the program and of its CRDs, which CRDs and Start take. Both are
// kept in the lab's cache ($LIFELINE_LAB_CACHE) from one run to the next. say
// gets a line when a build begins and ends: about two minutes on two cores.
func Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	which, err := fingerprint(ctx)
	if err != nil {
		return "", err
	}
	name := "agent-sandbox-" + which
	dir := filepath.Join(cache, "bin", name)
	if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
		return dir, nil
	}
	start := time.Now()
	say("building %s %s …", module, Version)
	if err := install(ctx, filepath.Join(cache, "src", name), dir); err != nil {
		return "", fmt.Errorf("cannot build %s %s: %w", module, Version, err)
	}
	say("built it in %s", time.Since(start).Round(time.Second))
	return dir, nil
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

// fingerprint names everything that goes into the program.
func fingerprint(ctx context.Context) (string, error) {
	toolchain, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask go for its version (is it in PATH?): %w", err)
	}
	hash := sha256.New()
	hash.Write(toolchain)
	for _, ext := range []string{".mod", ".sum"} {
		text, err := pinned.ReadFile("agent-sandbox" + ext)
		if err != nil {
			return "", fmt.Errorf("cannot read the pinned module: %w", err)
		}
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// install puts the program and its CRDs into dir, by way of a directory beside
// it, so that dir is there complete or not at all. Whoever loses a race against
// another install uses the winner's.
func install(ctx context.Context, src, dir string) error {
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	for ext, name := range map[string]string{".mod": "go.mod", ".sum": "go.sum"} {
		text, err := pinned.ReadFile("agent-sandbox" + ext)
		if err == nil {
			err = os.WriteFile(filepath.Join(src, name), text, 0o644)
		}
		if err != nil {
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

	if _, err := goTool(ctx, src, "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(tmp, program), module+"/cmd/"+program); err != nil {
		return err
	}
	from, err := goTool(ctx, src, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(tmp, crds), os.DirFS(filepath.Join(from, "k8s", crds))); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// goTool runs go in dir and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
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
