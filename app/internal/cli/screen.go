// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Screen describes an output stream: whether it is a terminal, and its colors.
type Screen struct {
	Terminal bool
	Color    bool
	fd       int
}

// NewScreen describes w; environ is the environment.
func NewScreen(w io.Writer, environ []string) Screen {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Screen{}
	}
	kind := lookEnv(environ, "TERM")
	if kind == "dumb" {
		return Screen{}
	}
	return Screen{Terminal: true, Color: lookEnv(environ, "NO_COLOR") == "", fd: int(file.Fd())}
}

// Size returns the terminal's width and height.
func (s Screen) Size() (width, height int) {
	width, height, err := term.GetSize(s.fd)
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// lookEnv returns the value of a variable; the last one counts.
func lookEnv(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// Env returns the value of an environment variable.
func (o *Options) Env(name string) string { return lookEnv(o.Environment(), name) }
