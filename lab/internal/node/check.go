// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNeedsRoot is returned where a real node is asked for by another user
// than root.
var ErrNeedsRoot = errors.New("real nodes need root")

// tools are the programs that Debian supplies.
type tools struct {
	runc   string
	cniDir string
}

// Check reports what keeps this machine from running a node: ErrNeedsRoot, or
// programs that are missing, with the packages that have them.
func Check() error {
	_, err := findTools()
	return err
}

// Where the tools are. An ordinary user's PATH, which sudo keeps on some
// systems, lacks the sbin directories.
var (
	runcPlaces = []string{"runc", "/usr/sbin/runc", "/usr/local/sbin/runc"}
	cniPlaces  = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
)

func findTools() (tools, error) {
	if os.Geteuid() != 0 {
		return tools{}, ErrNeedsRoot
	}
	return findToolsIn(runcPlaces, cniPlaces)
}

func findToolsIn(runcPlaces, cniPlaces []string) (tools, error) {
	var found tools
	for _, candidate := range runcPlaces {
		if path, err := exec.LookPath(candidate); err == nil {
			found.runc = path
			break
		}
	}
	for _, dir := range cniPlaces {
		if executable(filepath.Join(dir, "bridge")) && executable(filepath.Join(dir, "host-local")) {
			found.cniDir = dir
			break
		}
	}
	if found.runc == "" || found.cniDir == "" {
		return tools{}, fmt.Errorf(
			"real nodes need %s: apt-get install runc containernetworking-plugins",
			missing(found),
		)
	}
	return found, nil
}

func missing(found tools) string {
	switch {
	case found.runc != "":
		return "the CNI plugins bridge and host-local"
	case found.cniDir != "":
		return "runc"
	default:
		return "runc and the CNI plugins bridge and host-local"
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
