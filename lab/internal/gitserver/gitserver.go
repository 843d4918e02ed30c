// SPDX-License-Identifier: Apache-2.0

// Package gitserver serves Git repositories on loopback, without
// authentication, and commits to them. It runs the git of the machine.
package gitserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi" //nolint:gosec // fixed in Go 1.6.3
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// Name is the server's name among a cluster's processes.
const Name = "git"

// addressVar and dirVar turn a program that imports this package into a Git
// server.
const (
	addressVar = "LIFELINE_LAB_GIT_ADDRESS"
	dirVar     = "LIFELINE_LAB_GIT_DIR"
)

// readHeaderTimeout bounds an idle client.
const readHeaderTimeout = 10 * time.Second

// ErrNoGit is returned on a machine without git.
var ErrNoGit = errors.New("no git in PATH: install the package git")

// Check returns ErrNoGit on a machine without git.
func Check() error {
	if _, err := exec.LookPath("git"); err != nil {
		return ErrNoGit
	}
	return nil
}

// Spec returns how to run the server: this executable once more, which serves
// the bare repositories below dir on address (host:port).
func Spec(address, dir, logFile string) (process.Spec, error) {
	self, err := os.Executable()
	if err != nil {
		return process.Spec{}, fmt.Errorf("cannot start the Git server: %w", err)
	}
	return process.Spec{
		Name: Name, Path: self, LogFile: logFile,
		Env: []string{addressVar + "=" + address, dirVar + "=" + dir},
	}, nil
}

// Ready returns nil once the server on address answers.
func Ready(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return fmt.Errorf("cannot request the Git server: %w", err)
	}
	req.Close = true // leave no idle connection
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err // names method and URL
	}
	return res.Body.Close() // any response is good
}

// init takes over before main: a test binary has no other way in.
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
	handler, err := handler(dir)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve Git on %s: %w", address, err)
	}
	return nil
}

// handler serves the smart HTTP protocol of Git by its own CGI program.
func handler(dir string) (http.Handler, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, ErrNoGit
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("cannot serve Git from %s: %w", dir, err)
	}
	return &cgi.Handler{
		Path:       git,
		Args:       []string{"http-backend"},
		Env:        append(isolated(), "GIT_PROJECT_ROOT="+dir, "GIT_HTTP_EXPORT_ALL=1"),
		InheritEnv: []string{"PATH"},
		Stderr:     os.Stderr,
	}, nil
}

// isolated is the environment that keeps git from the user's and the machine's
// configuration.
func isolated() []string {
	return []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
}
