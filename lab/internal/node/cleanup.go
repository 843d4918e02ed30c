// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// cleanupPatience bounds a Cleanup, regardless of its context: half a node from a timed-out test
// would spoil the next one.
const cleanupPatience = 2 * time.Minute

// Cleanup removes everything that the node of that directory made or left on
// this machine, and kills what still runs of it; its log files and written
// configuration stay. It may be called at any time, by any process of root,
// also when there is nothing to remove: without root it does nothing. It does
// its work even if ctx has ended.
func Cleanup(ctx context.Context, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupPatience)
	defer cancel()
	lock, err := lockMachine()
	if err != nil {
		return err
	}
	defer lock.unlock()

	l := layoutOf(dir)
	errs := []error{
		// Who would start containers again; then the containers; then the
		// shims, which until now were there to reap them. A container that runc
		// was just making may have appeared meanwhile.
		endProcesses(ctx, l.isDaemon),
		l.removeCgroups(ctx),
		endProcesses(ctx, l.isHelper),
		l.removeCgroups(ctx),
		until(ctx, func() error { return errors.Join(process.UnmountBelow(l.runDir()), process.UnmountBelow(l.dir)) }),
		l.removeNetwork(),
		removeMatching("/var/lib/cni/results", l.leftByCNI),
		removeMatching("/var/log/containers", l.leftByKubelet),
	}
	if err := errors.Join(errs...); err != nil {
		// With mounts perhaps left, removing directories could reach through.
		return fmt.Errorf("cannot clean up the node in %s: %w", dir, err)
	}
	for _, path := range []string{l.containerdRoot(), l.containerdTemp(), l.kubeletData(), l.runDir()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("cannot clean up the node in %s: %w", dir, err)
		}
	}
	return lock.leave()
}

// leftByCNI matches the results of CNI plugins that containerd keeps.
func (l layout) leftByCNI(path string) bool {
	return strings.HasPrefix(filepath.Base(path), l.network()+"-")
}

// leftByKubelet matches the links to logs in a fixed place.
func (l layout) leftByKubelet(path string) bool {
	target, err := os.Readlink(path)
	return err == nil && within(target, l.podLogs())
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func removeMatching(dir string, match func(path string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look for leftovers: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); match(path) {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}
