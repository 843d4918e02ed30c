// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Own compiles a program of one of the repository's modules, with flags of go build, and returns its path: in
// bin/test of the repository. The packages of tests share it: it is linked again only after a change. module is a
// path from the root of the repository.
func Own(ctx context.Context, module, pkg string, flags ...string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, module)
	path := filepath.Join(root, "bin", "test", filepath.Base(filepath.Join(dir, pkg)))
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := Go(ctx, dir, append(append([]string{"build"}, flags...), "-o", path, pkg)...); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", filepath.Base(path), err)
	}
	return path, nil
}

// repository returns the root of the repository, above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot find the repository: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("cannot find go.work above the working directory")
}

// lockFile locks a file, which it creates, against other processes. The lock ends with unlock or with the process.
func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make a folder for programs of tests: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open a lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
