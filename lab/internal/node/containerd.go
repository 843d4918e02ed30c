// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// exampleRegistry is the registry in the image names of the project's examples.
// A node pulls those images from the lab's registry. The domain .example is
// reserved (RFC 2606): no real registry is hidden.
const exampleRegistry = "registry.example"

// writeContainerd writes containerd's configuration and how it reaches the
// registry.
func (n *Node) writeContainerd() error {
	l := n.layout
	snapshotter := "overlayfs"
	if !overlayWorks(l.dir) {
		snapshotter = "native"
	}
	type table = map[string]any
	data, err := toml.Marshal(table{
		"version": 4,
		"root":    l.containerdRoot(),
		"state":   l.stateDir(),
		"temp":    l.containerdTemp(),
		"plugins": table{
			"io.containerd.server.v1.grpc":  table{"address": l.socket()},
			"io.containerd.server.v1.ttrpc": table{"address": l.socket() + ".ttrpc"},
			"io.containerd.shim.v1.manager": table{"socket_dir": l.shimSockets()},
			"io.containerd.grpc.v1.cri":     table{"disable_tcp_service": true},
			"io.containerd.cri.v1.images": table{
				"snapshotter":   snapshotter,
				"pinned_images": table{"sandbox": n.cfg.PauseImage},
				"registry":      table{"config_path": l.hostsDir()},
			},
			"io.containerd.cri.v1.runtime": table{
				// Without CAP_SYS_RESOURCE, as in a container or a small
				// virtual machine, runc dies where a score is lowered.
				"restrict_oom_score_adj":       true,
				"netns_mounts_under_state_dir": true,
				"cni": table{
					"bin_dirs":              []string{n.tools.cniDir},
					"conf_dir":              l.cniDir(),
					"use_internal_loopback": true,
				},
				"containerd": table{"runtimes": table{"runc": table{
					"runtime_type": "io.containerd.runc.v2",
					"runtime_path": n.cfg.Shim,
					"options": table{
						"BinaryName":    n.tools.runc,
						"Root":          l.runcRoot(),
						"SystemdCgroup": false,
					},
				}}},
			},
		},
	})
	if err != nil {
		return fmt.Errorf("cannot write containerd's configuration: %w", err)
	}
	if err := os.WriteFile(l.containerdConfig(), data, 0o600); err != nil {
		return fmt.Errorf("cannot write containerd's configuration: %w", err)
	}

	for _, name := range []string{n.cfg.Registry, exampleRegistry} {
		if err := writeHosts(filepath.Join(l.hostsDir(), name), "http://"+n.cfg.Registry); err != nil {
			return fmt.Errorf("cannot write containerd's registry configuration: %w", err)
		}
	}
	return nil
}

// writeHosts sends the pulls from one registry to url. The last element of dir
// is the registry's name.
func writeHosts(dir, url string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	hosts, err := toml.Marshal(map[string]any{
		"server": url,
		"host":   map[string]any{url: map[string]any{"capabilities": []string{"pull", "resolve"}}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "hosts.toml"), hosts, 0o600)
}

func (n *Node) containerdSpec() process.Spec {
	return process.Spec{
		Name:    ContainerdProcess,
		Path:    n.cfg.Containerd,
		Args:    append([]string{n.layout.containerdArg(), "--log-level=info"}, n.cfg.ContainerdArgs...),
		Env:     n.cfg.ContainerdTracing.environment(),
		LogFile: n.cfg.ContainerdLog,
	}
}

// environment is containerd's tracing configuration, which its configuration file does not support
// any more. The caller's own OpenTelemetry settings are excluded.
func (t *Tracing) environment() []string {
	if t == nil {
		return []string{"OTEL_SDK_DISABLED=true"}
	}
	rate := float64(t.SamplingRatePerMillion) / 1e6
	return []string{
		"OTEL_SDK_DISABLED=false",
		"OTEL_SERVICE_NAME=containerd",
		"OTEL_RESOURCE_ATTRIBUTES=",
		"OTEL_TRACES_EXPORTER=otlp",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + t.Endpoint,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + t.Endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc",
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG=" + strconv.FormatFloat(rate, 'f', -1, 64),
	}
}
