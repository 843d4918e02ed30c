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
	"path/filepath"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// Name is the server's name among a cluster's processes.
const Name = "git"

var server = process.Inside{Name: Name, Handler: handler}

func init() { server.Main() }

// ErrNoGit is returned on a machine without git.
var ErrNoGit = errors.New("no git in PATH: install the package git")

// Check returns ErrNoGit on a machine without git.
func Check() error {
	if _, err := exec.LookPath("git"); err != nil {
		return ErrNoGit
	}
	return nil
}

// Spec returns the process of the server. It serves the bare repositories below dir on address (host:port).
func Spec(address, dir, logFile string) (process.Spec, error) {
	return server.Spec(address, dir, logFile)
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
