// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"slices"
	"sync"
)

// Health holds the liveness and readiness of the process: named checks, each healthy or failed with
// a reason. The zero value has no checks, and is live and ready. It is safe for concurrent use.
type Health struct {
	mu     sync.Mutex
	checks []check
}

type check struct {
	name string
	kind kind
	ask  func() error
}

// kind is the effect of a check on the process.
type kind int

const (
	live kind = iota
	ready
	note
)

// Live adds a liveness check. If it fails, the process should be restarted. ask returns nil or the
// problem; it must not block.
func (h *Health) Live(name string, ask func() error) { h.add(check{name, live, ask}) }

// Ready adds a readiness check. If it fails, the process cannot work yet or at the moment. ask is
// as in Live.
func (h *Health) Ready(name string, ask func() error) { h.add(check{name, ready, ask}) }

// Note adds a check of an optional dependency. A failure is listed, and the process stays ready.
// ask is as in Live.
func (h *Health) Note(name string, ask func() error) { h.add(check{name, note, ask}) }

func (h *Health) add(c check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, c)
}

// Finding is the result of one check.
type Finding struct {
	Name string
	// Err is nil for a healthy check.
	Err error
	// Note means that Err does not affect readiness.
	Note bool
}

// Findings runs the checks: those of Live and, unless liveOnly is set, the others.
func (h *Health) Findings(liveOnly bool) []Finding {
	h.mu.Lock()
	checks := slices.Clone(h.checks)
	h.mu.Unlock()
	var out []Finding
	for _, c := range checks {
		if c.kind == live || !liveOnly {
			out = append(out, Finding{Name: c.name, Err: run(c.ask), Note: c.kind == note})
		}
	}
	return out
}

// run calls ask, and returns a panic as an error.
func run(ask func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return ask()
}
