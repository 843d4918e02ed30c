// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/lab/internal/gitserver"
)

var flux = addOnSpec{
	components: []Component{SourceController, KustomizeController},
	check:      gitserver.Check,
	namespace:  "flux-system",
	prepare:    func(ctx context.Context, c *Cluster) error { return c.startGit(ctx) },
}

// Without an address of the notification-controller, Flux only writes Events.
var (
	sourceController = addOnComponent{
		ports: 2,
		ready: "/readyz",
		env:   fluxEnv,
		args: func(c *Cluster, ports []int) ([]string, error) {
			storage := filepath.Join(c.dir, "data", "artifacts")
			if err := os.MkdirAll(storage, 0o700); err != nil {
				return nil, fmt.Errorf("cannot store artifacts: %w", err)
			}
			return []string{
				"--metrics-addr=0", // none
				"--health-addr=" + loopback(ports[0]),
				"--storage-addr=" + loopback(ports[1]),
				"--storage-adv-addr=" + loopback(ports[1]),
				"--storage-path=" + storage,
			}, nil
		},
	}
	kustomizeController = addOnComponent{
		ports: 1,
		ready: "/readyz",
		env:   fluxEnv,
		args: func(_ *Cluster, ports []int) ([]string, error) {
			return []string{
				"--metrics-addr=0", // none
				"--health-addr=" + loopback(ports[0]),
				"--requeue-dependency=5s",
			}, nil
		},
	}
)

func fluxEnv(*Cluster) []string { return []string{"RUNTIME_NAMESPACE=" + flux.namespace} }
