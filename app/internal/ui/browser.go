// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"os/exec"
	"runtime"
)

// browser returns a function that opens a URL in the browser of the system; nil without one.
func (u *UI) browser() func(ctx context.Context, url string) error {
	var command []string
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if u.Env("DISPLAY") == "" && u.Env("WAYLAND_DISPLAY") == "" && u.Env("BROWSER") == "" {
			return nil
		}
		command = []string{"xdg-open"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil
	}
	return func(ctx context.Context, url string) error {
		return exec.CommandContext(ctx, path, append(command[1:], url)...).Run()
	}
}
