// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// addressVar and dirVar turn a program that imports this package into a
// registry.
const (
	addressVar = "LIFELINE_LAB_REGISTRY_ADDRESS"
	dirVar     = "LIFELINE_LAB_REGISTRY_DIR"
)

// readHeaderTimeout bounds an idle client; a slow pull is not bounded.
const readHeaderTimeout = 10 * time.Second

// Name is the registry's name among a cluster's processes.
const Name = "registry"

// Spec returns the process of the registry: this executable again, configured by its environment.
// It serves on address (host:port) and keeps layers in dir.
func Spec(address, dir, logFile string) (process.Spec, error) {
	self, err := os.Executable()
	if err != nil {
		return process.Spec{}, fmt.Errorf("cannot start the registry: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return process.Spec{}, fmt.Errorf("cannot start the registry: %w", err)
	}
	return process.Spec{
		Name: Name, Path: self, LogFile: logFile,
		Env: []string{addressVar + "=" + address, dirVar + "=" + dir},
	}, nil
}

// init takes over before main, as test binaries leave no other way in.
func init() {
	address := os.Getenv(addressVar)
	if address == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := serve(ctx, address, os.Getenv(dirVar))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves until ctx ends.
func serve(ctx context.Context, address, dir string) error {
	server := &http.Server{Addr: address, Handler: handler(dir), ReadHeaderTimeout: readHeaderTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve images on %s: %w", address, err)
	}
	return nil
}
