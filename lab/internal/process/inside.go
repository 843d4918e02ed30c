// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Inside is an HTTP server inside each program that imports its package. As a process of a cluster, it is
// this executable again, configured by its environment.
type Inside struct {
	// Name is the server's name among a cluster's processes.
	Name string
	// Handler returns the handler for a directory.
	Handler func(dir string) (http.Handler, error)
}

// readHeaderTimeout bounds an idle client; a slow transfer is not bounded.
const readHeaderTimeout = 10 * time.Second

func (i Inside) variable(name string) string {
	return "LIFELINE_LAB_" + strings.ToUpper(i.Name) + "_" + name
}

// Spec returns the process of the server, on address (host:port).
func (i Inside) Spec(address, dir, logFile string) (Spec, error) {
	self, err := os.Executable()
	if err != nil {
		return Spec{}, fmt.Errorf("cannot start %s: %w", i.Name, err)
	}
	return Spec{
		Name: i.Name, Path: self, LogFile: logFile,
		Env: []string{i.variable("ADDRESS") + "=" + address, i.variable("DIR") + "=" + dir},
	}, nil
}

// Main serves and exits if this program is the process of Spec. An init function calls it, since a test binary has
// no other way in.
func (i Inside) Main() {
	address := os.Getenv(i.variable("ADDRESS"))
	if address == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := i.serve(ctx, address, os.Getenv(i.variable("DIR")))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves until ctx ends.
func (i Inside) serve(ctx context.Context, address, dir string) error {
	handler, err := i.Handler(dir)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve %s on %s: %w", i.Name, address, err)
	}
	return nil
}
