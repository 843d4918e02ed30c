// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
	realnode "github.com/kube-lifeline/lifeline/lab/internal/node"
	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// endGrace is how long End waits for a component to end by itself.
const endGrace = 5 * time.Second

// errRunning reports that a directory belongs to a cluster that runs.
var errRunning = errors.New("a cluster is running there")

// temporaryRoot holds the directories of clusters that were given none.
func temporaryRoot() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("lifeline-lab-%d", os.Getuid()))
}

// DefaultDir returns where a named cluster lives that should be found again.
func DefaultDir(name string) (string, error) {
	cache, err := build.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "clusters", name), nil
}

// End ends the cluster in dir: its processes, by their recorded PIDs, and its
// mounts. Another process may have started the cluster, and may have crashed.
// The directory stays, with the logs; a later Start there replaces the data. A
// second End does nothing.
func End(ctx context.Context, dir string) error {
	if _, err := Inspect(dir); err != nil {
		return err
	}
	return end(ctx, dir)
}

func end(ctx context.Context, dir string) error {
	return errors.Join(
		process.End(ctx, dir, endGrace),
		realnode.Cleanup(ctx, realNodeDir(dir)),
		process.UnmountBelow(dir),
	)
}

// claimDir makes the cluster's directory and clears it of an earlier cluster.
func (c *Cluster) claimDir(ctx context.Context) error {
	if c.dir == "" {
		sweep(ctx)
		c.dir = filepath.Join(temporaryRoot(), c.opts.Name)
		c.temporary = true
	}
	info, err := Inspect(c.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.Running():
		return fmt.Errorf("cannot start cluster %s in %s: %w", c.opts.Name, c.dir, errRunning)
	default:
		if err := end(ctx, c.dir); err != nil {
			return err
		}
		if err := os.RemoveAll(c.dir); err != nil {
			return fmt.Errorf("cannot clear the directory of an earlier cluster: %w", err)
		}
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("cannot create the cluster's directory: %w", err)
	}
	return nil
}

// sweep ends and removes temporary clusters whose owner crashed. Its failures do not affect this
// cluster.
func sweep(ctx context.Context) {
	dirs, _ := filepath.Glob(filepath.Join(temporaryRoot(), "*"))
	for _, dir := range dirs {
		info, err := Inspect(dir)
		if err != nil || info.Detached || info.Owner.Alive() {
			continue
		}
		if err := end(ctx, dir); err == nil {
			_ = os.RemoveAll(dir)
		}
	}
}

// List describes all clusters in the default places, running or not.
func List() ([]Info, error) {
	named, err := DefaultDir("*")
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, pattern := range []string{named, filepath.Join(temporaryRoot(), "*")} {
		dirs, _ := filepath.Glob(pattern) // the pattern is well-formed
		for _, dir := range dirs {
			if info, err := Inspect(dir); err == nil {
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}
