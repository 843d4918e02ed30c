// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"testing"
)

func (s stage) String() string { return [...]string{"startAt", "startNow", "compare", "follow"}[s] }

// stages has a stream in each stage. Those after the first list have emitted version 7.
func stages() map[stage]progress {
	out := map[stage]progress{startAt: newProgress(5), startNow: newProgress(0)}
	p := newProgress(0)
	p.reach("7")
	out[follow] = p
	p.expire()
	out[compare] = p
	return out
}

func TestProgress(t *testing.T) {
	events := map[string]func(*progress){
		"reach":          func(p *progress) { p.reach("9") },
		"reach opaque":   func(p *progress) { p.reach("opaque") },
		"expire":         (*progress).expire,
		"inexact":        (*progress).inexact,
		"list, set back": func(p *progress) { p.setBack("6") },
		"list":           func(p *progress) { p.setBack("8") },
		"list, opaque":   func(p *progress) { p.setBack("opaque") },
	}
	// want has the stage after an event, the version and the emitted version, for the stages startAt,
	// startNow, compare and follow.
	want := map[string]struct {
		reason string
		states [4]string
	}{
		"reach": {
			"each list ends in a watch",
			[4]string{"follow 9 9", "follow 9 9", "follow 9 9", "follow 9 9"},
		},
		"reach opaque": {
			"a version that is no number can be watched from",
			[4]string{"follow opaque 0", "follow opaque 0", "follow opaque 0", "follow opaque 0"},
		},
		"expire": {
			"a lost version makes the next list one of the present; the first list stays the first",
			[4]string{"startNow  0", "startNow  0", "compare  7", "compare  7"},
		},
		"inexact": {
			"only the first list can be of the past",
			[4]string{"startNow  0", "startNow  0", "compare  7", "follow 7 7"},
		},
		"list, set back": {
			"the emitted versions say nothing about a storage that was set back",
			[4]string{"startAt  0", "startNow  0", "compare  0", "follow 7 0"},
		},
		"list": {
			"a list of a newer state keeps what was emitted",
			[4]string{"startAt  0", "startNow  0", "compare  7", "follow 7 7"},
		},
		"list, opaque": {
			"a version that is no number cannot be compared",
			[4]string{"startAt  0", "startNow  0", "compare  7", "follow 7 7"},
		},
	}
	for name, event := range events {
		for from, p := range stages() {
			event(&p)
			if got := fmt.Sprint(p.stage, " ", p.version, " ", p.emitted); got != want[name].states[from] {
				t.Errorf("%s in %s: got %q, want %q: %s", name, from, got, want[name].states[from], want[name].reason)
			}
		}
	}
	for from, p := range stages() {
		if got, want := p.isFirst(), from == startAt || from == startNow; got != want {
			t.Errorf("%s is the first list: %t, want %t", from, got, want)
		}
	}
}
