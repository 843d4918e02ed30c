// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// sharedDir holds what all nodes on this machine share, and their runtime
// directories. Paths below must stay short: a socket's has at most 107 bytes,
// and containerd allows 42 for the directory of its shims' sockets.
const sharedDir = "/run/lifeline-lab"

// layout derives every name that a node takes from its directory.
type layout struct {
	dir string
	id  string
}

func layoutOf(dir string) layout {
	dir = filepath.Clean(dir)
	sum := sha256.Sum256([]byte(dir))
	return layout{dir: dir, id: hex.EncodeToString(sum[:4])}
}

func (l layout) runDir() string         { return filepath.Join(sharedDir, l.id) }
func (l layout) socket() string         { return filepath.Join(l.runDir(), "c.sock") }
func (l layout) stateDir() string       { return filepath.Join(l.runDir(), "c") }
func (l layout) shimSockets() string    { return filepath.Join(l.runDir(), "s") }
func (l layout) runcRoot() string       { return filepath.Join(l.runDir(), "runc") }
func (l layout) addresses() string      { return filepath.Join(l.runDir(), "addresses") }
func (l layout) bridge() string         { return "ll-" + l.id }
func (l layout) network() string        { return "lifeline-lab-" + l.id }
func (l layout) cgroup() string         { return "/lifeline-lab-" + l.id }
func (l layout) containerdRoot() string { return filepath.Join(l.dir, "containerd") }
func (l layout) containerdTemp() string { return filepath.Join(l.dir, "tmp") }
func (l layout) cniDir() string         { return filepath.Join(l.dir, "cni") }
func (l layout) hostsDir() string       { return filepath.Join(l.dir, "registries") }

// KubeletRoot returns the kubelet's directory of the node in dir.
func KubeletRoot(dir string) string { return layoutOf(dir).kubeletRoot() }

// kubeletRoot is the kubelet's name for its data: it has sockets in there, too,
// for which the node's directory may be too deep.
func (l layout) kubeletRoot() string { return filepath.Join(l.runDir(), "k") }
func (l layout) kubeletData() string { return filepath.Join(l.dir, "kubelet") }

func (l layout) servingCert() string { return filepath.Join(l.dir, "kubelet.crt") }
func (l layout) servingKey() string  { return filepath.Join(l.dir, "kubelet.key") }

// podLogs keeps the containers' logs, also after the node's end.
func (l layout) podLogs() string { return filepath.Join(l.dir, "pods") }

func (l layout) containerdConfig() string { return filepath.Join(l.dir, "containerd.toml") }
func (l layout) kubeletConfig() string    { return filepath.Join(l.dir, "kubelet.json") }

// containerdArg and kubeletArg mark the processes of this node.
func (l layout) containerdArg() string { return "--config=" + l.containerdConfig() }
func (l layout) kubeletArg() string    { return "--config=" + l.kubeletConfig() }
