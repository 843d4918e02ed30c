// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// overlayWorks reports whether overlays can be mounted on the file system of
// dir; they cannot on another overlay, such as a container's root.
func overlayWorks(dir string) bool {
	work, err := os.MkdirTemp(dir, "overlay-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(work, name), 0o700); err != nil {
			return false
		}
	}
	merged := filepath.Join(work, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", work)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return false
	}
	return unix.Unmount(merged, unix.MNT_DETACH) == nil
}
