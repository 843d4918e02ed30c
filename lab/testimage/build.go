// SPDX-License-Identifier: Apache-2.0

package testimage

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

//go:embed app/main.go
var source []byte

// goMod makes the embedded source a separate module.
const goMod = "module app\n\ngo 1.26\n"

// Build compiles the test program into dir, which it creates if needed, and returns its path. The
// name is keyed by source, toolchain and architecture: an existing program is not built again, and
// concurrent callers are safe. It needs the go command.
func Build(ctx context.Context, dir string) (string, error) {
	key := sha256.Sum256([]byte(runtime.Version() + runtime.GOARCH + goMod + string(source)))
	path := filepath.Join(dir, fmt.Sprintf("testapp-%x", key[:6]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the folder of the test program: %w", err)
	}
	// Inside dir, so that the last step is a rename on one file system.
	work, err := os.MkdirTemp(dir, "testapp-build-")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder to build the test program in: %w", err)
	}
	defer os.RemoveAll(work)
	if err := errors.Join(
		os.WriteFile(filepath.Join(work, "go.mod"), []byte(goMod), 0o644),
		os.WriteFile(filepath.Join(work, "main.go"), source, 0o644),
	); err != nil {
		return "", fmt.Errorf("cannot lay out the test program: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid=", "-o", "app", ".")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the test program: %w\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(work, "app"), path); err != nil {
		return "", fmt.Errorf("cannot keep the test program: %w", err)
	}
	return path, nil
}
