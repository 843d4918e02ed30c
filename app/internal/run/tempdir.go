// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/filelock"
)

const (
	tempPrefix = "lifeline-run-"
	tempLock   = "lock"
)

// tempDir is the directory of the command's kubeconfig. It holds a locked file, so that a later
// process can recognize a stale directory.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir also removes the directories of killed processes.
func newTempDir() (*tempDir, error) {
	removeStale(os.TempDir())
	path, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the command's kubeconfig: %w", err)
	}
	d := &tempDir{path: path}
	if err := d.take(); err != nil {
		d.remove()
		return nil, fmt.Errorf("cannot lock the directory of the command's kubeconfig: %w", err)
	}
	return d, nil
}

// take locks the directory and records that in the file. Another process may hold the lock briefly
// for its check. The file then stays empty, and the directory is never stale.
func (d *tempDir) take() (err error) {
	d.lock, err = os.OpenFile(filepath.Join(d.path, tempLock), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if filelock.Try(d.lock) == nil {
		_, err = d.lock.WriteString("locked\n")
	}
	return err
}

// remove ignores errors; the next process tries again.
func (d *tempDir) remove() {
	if d.lock != nil {
		_ = d.lock.Close()
	}
	_ = os.RemoveAll(d.path)
}

// removeStale removes directories with a released lock. It leaves those of other users.
func removeStale(in string) {
	entries, err := os.ReadDir(in)
	if err != nil {
		return // MkdirTemp reports the cause
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), tempPrefix) {
			removeIfStale(filepath.Join(in, e.Name()))
		}
	}
}

func removeIfStale(path string) {
	lock, err := os.OpenFile(filepath.Join(path, tempLock), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer lock.Close() // nothing was written
	if filelock.Try(lock) != nil {
		return
	}
	if info, err := lock.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	_ = lock.Close() // Windows removes no open file
	_ = os.RemoveAll(path)
}
