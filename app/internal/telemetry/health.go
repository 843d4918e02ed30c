// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"slices"
	"sync"
)

// Health knows whether the process lives and is ready: named checks, each
// healthy or not for a reason. The zero value has no checks, is live and ready.
// It is safe for concurrent use.
type Health struct {
	mu     sync.Mutex
	checks []check
}

type check struct {
	name string
	kind kind
	ask  func() error
}

// kind says what a check means for the process.
type kind int

const (
	live kind = iota
	ready
	note
)

// Live adds a check without which the process is of no use any more and should
// be restarted. Ask returns nil, or what is wrong; it must not wait.
func (h *Health) Live(name string, ask func() error) { h.add(check{name, live, ask}) }

// Ready adds a check without which the process cannot do its work yet, or just
// now. Ask is as in Live.
func (h *Health) Ready(name string, ask func() error) { h.add(check{name, ready, ask}) }

// Note adds a check of something outside that the process waits for and can do
// without: it is told, and the process is ready none the less. Ask is as in Live.
func (h *Health) Note(name string, ask func() error) { h.add(check{name, note, ask}) }

func (h *Health) add(c check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, c)
}

// Finding is what became of one check.
type Finding struct {
	Name string
	// Err is nil if all is well.
	Err error
	// Note says that an Err does not make the process unfit.
	Note bool
}

// Findings runs the checks: those of Live, and unless liveOnly the others.
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

// run asks, and takes a panic for an answer.
func run(ask func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return ask()
}
