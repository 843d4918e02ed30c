// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLeaving(t *testing.T) {
	var l leaving
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l.note("kept", true, true, at)
	l.note("gone", true, false, at)
	l.note("back", true, false, at)
	l.note("never", false, false, at)
	l.note("gone", false, false, at.Add(linger-1)) // it has been leaving for that long
	l.note("back", false, true, at.Add(linger-1))
	if l.has("kept") || !l.has("gone") || l.has("back") || l.has("never") {
		t.Errorf(
			"being left are kept %t, gone %t, back %t, never %t, want gone alone",
			l.has("kept"),
			l.has("gone"),
			l.has("back"),
			l.has("never"),
		)
	}
	if left := l.left(at.Add(linger - 1)); len(left) != 0 {
		t.Errorf("%v are left before their time", left)
	}
	if d := cmp.Diff(map[string]bool{"gone": true}, l.left(at.Add(linger))); d != "" {
		t.Errorf("left -want +got:\n%s", d)
	}
	if l.has("gone") || len(l.left(at.Add(2*linger))) != 0 {
		t.Error("a namespace is left twice")
	}
}
