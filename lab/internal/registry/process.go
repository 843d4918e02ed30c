// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"os"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// Name is the registry's name among a cluster's processes.
const Name = "registry"

var server = process.Inside{
	Name: Name, Handler: func(dir string) (http.Handler, error) { return handler(dir), nil },
}

func init() { server.Main() }

// Spec returns the process of the registry. It serves on address (host:port) and keeps layers in dir.
func Spec(address, dir, logFile string) (process.Spec, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return process.Spec{}, fmt.Errorf("cannot start the registry: %w", err)
	}
	return server.Spec(address, dir, logFile)
}
