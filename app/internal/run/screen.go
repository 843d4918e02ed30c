// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen describes an output stream: whether it is a terminal, and its colors.
type screen struct {
	terminal bool
	color    bool
	fd       int
}

func newScreen(w io.Writer, environ []string) screen {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return screen{}
	}
	kind := lookEnv(environ, "TERM")
	if kind == "dumb" {
		return screen{}
	}
	return screen{terminal: true, color: lookEnv(environ, "NO_COLOR") == "", fd: int(file.Fd())}
}

// size returns the terminal's width and height.
func (s screen) size() (width, height int) {
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

func (o *Options) env(name string) string { return lookEnv(o.environ(), name) }
