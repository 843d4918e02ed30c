// SPDX-License-Identifier: Apache-2.0

package watch

import "strconv"

// stage is the next request of a stream.
//
//	          reach              expire, inexact
//	--------  -----------------  ------------------------
//	startAt   follow             startNow
//	startNow  follow             startNow
//	compare   follow             compare
//	follow    follow             compare (expire only)
type stage uint8

const (
	// startAt is the first list, of the state at plan.since.
	startAt stage = iota
	// startNow is the first list, of the present.
	startNow
	// compare is a later list of the present. It gives the differences from the known state.
	compare
	// follow is a watch from the reached version.
	follow
)

// progress is the stage of a stream, and the version up to which everything was emitted.
type progress struct {
	stage stage
	// version is the reached resourceVersion. It is empty except in stage follow.
	version string
	// emitted is the reached version as a number, or 0 if it is not numeric. It stays during a list.
	emitted uint64
}

// newProgress returns the start at a past version; 0 means the present.
func newProgress(since uint64) progress {
	if since == 0 {
		return progress{stage: startNow}
	}
	return progress{stage: startAt}
}

// reach records a version up to which everything was emitted.
func (p *progress) reach(version string) {
	p.stage, p.version, p.emitted = follow, version, 0
	if n, err := strconv.ParseUint(version, 10, 64); err == nil {
		p.emitted = n
	}
}

// expire records that the API server does not have the requested version any more, or not yet again.
func (p *progress) expire() {
	switch p.stage {
	case startAt:
		p.stage = startNow
	case follow:
		p.stage, p.version = compare, ""
	case startNow, compare:
	}
}

// inexact records that the state at plan.since is not available.
func (p *progress) inexact() {
	if p.stage == startAt {
		p.stage = startNow
	}
}

// setBack prepares for a list from a storage at an earlier version than the emitted one.
func (p *progress) setBack(listed string) {
	if n, err := strconv.ParseUint(listed, 10, 64); err == nil && n < p.emitted {
		p.emitted = 0
	}
}

// isFirst reports whether the next list is the first one.
func (p *progress) isFirst() bool { return p.stage == startAt || p.stage == startNow }
