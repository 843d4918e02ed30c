// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"testing"
)

func TestProcessesOfANode(t *testing.T) {
	ours, theirs := layoutOf("/here"), layoutOf("/there")
	cases := map[string]struct {
		reason         string
		line           commandLine
		daemon, helper bool
	}{
		"Kubelet": {
			reason: "the configuration file identifies the kubelet's node",
			line:   commandLine{"/cache/kubelet", ours.kubeletArg(), "-v=2"},
			daemon: true,
		},
		"Containerd": {
			reason: "and whose containerd",
			line:   commandLine{"/cache/containerd", ours.containerdArg()},
			daemon: true,
		},
		"Shim": {
			reason: "a shim has containerd's address",
			line:   commandLine{"/cache/containerd-shim-runc-v2", "-namespace", "k8s.io", "-address", ours.socket()},
			helper: true,
		},
		"Runc": {
			reason: "runc has the directory of its state",
			line:   commandLine{"runc", "--root", ours.runcRoot() + "/k8s.io", "create"},
			helper: true,
		},
		"OtherNodesShim": {
			reason: "another node's are left alone",
			line:   commandLine{"/cache/containerd-shim-runc-v2", "-address", theirs.socket()},
		},
		"Reader": {
			reason: "a reader of the node's files is left alone",
			line:   commandLine{"tail", "-f", "/here/kubelet.json", ours.kubeletArg()},
		},
		"CutShort": {
			reason: "a flag without value matches nothing",
			line:   commandLine{"containerd-shim-runc-v2", "-address"},
		},
		"Zombie": {
			reason: "a zombie has no command line",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ours.isDaemon(tc.line); got != tc.daemon {
				t.Errorf("\n%s\nisDaemon(%q): got %t, want %t", tc.reason, tc.line, got, tc.daemon)
			}
			if got := ours.isHelper(tc.line); got != tc.helper {
				t.Errorf("\n%s\nisHelper(%q): got %t, want %t", tc.reason, tc.line, got, tc.helper)
			}
		})
	}
	if line := commandLineOf(os.Getpid()); line.program() == "" {
		t.Errorf("own command line: got %q", line)
	}
}

func TestCleanupOfNothing(t *testing.T) {
	for range 2 {
		if err := Cleanup(t.Context(), t.TempDir()); err != nil {
			t.Errorf("a directory without a node: got %v", err)
		}
	}
}
