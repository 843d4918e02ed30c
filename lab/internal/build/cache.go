// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// toolchain identifies the compiler: another one makes other programs.
func toolchain(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("cannot get the version of go (is it in PATH?): %w", err)
	}
	return string(out), nil
}

// binDir returns where those of the programs that are of a module are kept: a
// directory named after everything that goes into them.
func binDir(cache, module, toolchain string, programs []program) (string, error) {
	var source string
	hash := sha256.New()
	_, _ = io.WriteString(hash, toolchain) // a hash takes everything
	files, err := moduleFiles(module)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		hash.Write(files[name])
	}
	for _, p := range programs {
		if p.module == module {
			source = p.source
			fmt.Fprintln(hash, p.pkg, p.tags, p.ldflags)
			if p.crds.dir != "" {
				fmt.Fprintln(hash, p.crds.dir)
			}
		}
	}
	return filepath.Join(cache, "bin", source+"-"+hex.EncodeToString(hash.Sum(nil))[:16]), nil
}

// lock waits until no other process builds into the cache. The kernel gives
// the lock up when its holder dies.
func lock(ctx context.Context, cache string, progress io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the cache: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the cache: %w", err)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for logged := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
		if !logged {
			fmt.Fprintln(progress, "waiting for another build to finish …")
			logged = true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", f.Name(), ctx.Err())
		}
	}
}
