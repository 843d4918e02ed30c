// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// linking is the work of linking a program, in packages.
const linking = 40

// estimate is the remaining time of the build of several programs. It counts the packages that the compiler has
// finished, and takes all packages as equally long. A nil estimate knows nothing.
type estimate struct {
	now   func() time.Time
	began time.Time

	mu sync.Mutex
	// waiting are the packages of all programs that may need the compiler. done and total are numbers of packages.
	waiting     map[string]bool
	done, total int
}

// newEstimate returns an estimate for programs with these packages.
func newEstimate(now func() time.Time, packages ...[]string) *estimate {
	e := &estimate{now: now, began: now(), waiting: map[string]bool{}, total: linking * len(packages)}
	for _, of := range packages {
		for _, p := range of {
			e.waiting[p] = true
		}
	}
	e.total += len(e.waiting)
	return e
}

// compiled counts a package. It reports whether it is one.
func (e *estimate) compiled(name string) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.waiting[name] {
		return false
	}
	delete(e.waiting, name)
	e.done++
	return true
}

// built counts a program. Those of its packages that still wait were in Go's cache.
func (e *estimate) built(packages []string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done += linking
	for _, p := range packages {
		if e.waiting[p] {
			delete(e.waiting, p)
			e.total--
		}
	}
}

// String returns the remaining time as the end of a line; empty while too little is done.
func (e *estimate) String() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done < e.total/20 || e.done == 0 {
		return ""
	}
	left := time.Duration(float64(e.now().Sub(e.began)) * float64(e.total-e.done) / float64(e.done))
	switch minutes := int((left + time.Minute/2) / time.Minute); minutes {
	case 0:
		return ", less than a minute left in all"
	case 1:
		return ", about a minute left in all"
	default:
		return fmt.Sprintf(", about %d minutes left in all", minutes)
	}
}

// packagesOf returns the packages of a program in the module at src, as go build -v prints them; nil if Go cannot
// list them, which its build reports better.
func packagesOf(ctx context.Context, src string, p program) []string {
	args := []string{"list", "-deps", "-tags", p.tags}
	if p.tests() {
		args = append(args, "-test")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.pkg)...)
	cmd.Dir, cmd.Env = src, environ()
	text, err := cmd.Output()
	if err != nil {
		return nil
	}
	packages := strings.Fields(string(text))
	for i, name := range packages {
		packages[i] = packageKey(p.module, name)
	}
	return packages
}

// packageKey names a package for an estimate. Pinned modules have packages of one path in several versions; those of
// the standard library are the same for all.
func packageKey(module, path string) string {
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return path
	}
	return module + " " + path
}

// environ is the environment of Go for a pinned module.
func environ() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
}

// packageLines counts the packages in the output of go build -v in a module, and passes on the other lines.
type packageLines struct {
	estimate *estimate
	module   string
	rest     io.Writer
	part     []byte
}

// Write implements io.Writer.
func (l *packageLines) Write(data []byte) (int, error) {
	l.part = append(l.part, data...)
	for {
		line, after, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		if !l.estimate.compiled(packageKey(l.module, string(line))) {
			if _, err := fmt.Fprintf(l.rest, "%s\n", line); err != nil {
				return 0, err
			}
		}
		l.part = after
	}
}
