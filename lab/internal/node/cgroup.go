// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// cgroupPatience is how long killed processes may take to leave their groups.
const cgroupPatience = 10 * time.Second

// cgroupRoots returns where control groups are mounted: one place under
// version 2, one for each controller under version 1.
func cgroupRoots() (v1, v2 []string, err error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list control group mounts: %w", err)
	}
	for _, m := range mounts {
		if m.FSType == "cgroup2" {
			v2 = append(v2, m.Mountpoint)
		} else {
			v1 = append(v1, m.Mountpoint)
		}
	}
	return v1, v2, nil
}

// makeCgroups makes the group below which the kubelet puts all Pods.
func (l layout) makeCgroups() error {
	v1, v2, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range v1 {
		if err := os.Mkdir(filepath.Join(root, l.cgroup()), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot make control group %s: %w", l.cgroup(), err)
		}
	}
	for _, root := range v2 {
		// In hybrid mode version 2 is mounted too, without any controller.
		controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		if err != nil || len(controllers) == 0 {
			continue
		}
		if err := os.Mkdir(filepath.Join(root, l.cgroup()), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot make control group %s: %w", l.cgroup(), err)
		}
		for _, controller := range strings.Fields(string(controllers)) {
			for _, dir := range []string{root, filepath.Join(root, l.cgroup())} {
				// The kubelet names those that it needs and does not get.
				_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
			}
		}
	}
	return nil
}

// removeCgroups kills every process in the node's control groups and removes
// the groups.
func (l layout) removeCgroups(ctx context.Context) error {
	v1, v2, err := cgroupRoots()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cgroupPatience)
	defer cancel()
	var errs []error
	for _, root := range append(v1, v2...) {
		errs = append(errs, removeCgroup(ctx, filepath.Join(root, l.cgroup())))
	}
	return errors.Join(errs...)
}

// removeCgroup empties one tree and removes it, deepest first. A killed process
// leaves its group only when it is reaped, hence the second looks.
func removeCgroup(ctx context.Context, root string) error {
	return until(ctx, func() error {
		dirs, err := cgroupTree(root)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			killMembers(dir)
		}
		for _, dir := range slices.Backward(dirs) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("cannot remove control group %s: %w", dir, err)
			}
		}
		return nil
	})
}

// cgroupTree lists a control group and those below it, parents first.
func cgroupTree(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	return dirs, err
}

func killMembers(dir string) {
	f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// Zero stands for a process outside our own pid namespace.
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// until repeats step until it succeeds or ctx ends.
func until(ctx context.Context, step func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := step()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
