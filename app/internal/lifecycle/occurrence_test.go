// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestEventFollowsWrite(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return second.Add(time.Duration(ms) * time.Millisecond) }
	tests := map[string]struct {
		reason string
		stamp  time.Time
		rv     uint64
		want   bool
	}{
		"a second before":  {"the stamps decide, though the Event was stored later", at(-1000), 900, false},
		"a second after":   {"the stamps decide, whatever storage Events have", at(1000), 3, true},
		"stored before":    {"within a second the versions decide", second, 99, false},
		"stored after":     {"within a second the versions decide", second, 101, true},
		"exact, the same":  {"the write's microseconds are not known", at(700), 101, true},
		"exact, stored so": {"the write's microseconds are not known", at(700), 99, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, late := range []bool{false, true} {
				v := &version{intent: &intent{}, ResourceVersion: 100, seen: at(400), listed: late}
				v.Managers = append(v.Managers, &observation.Manager{Name: "kubectl", Time: second})
				if late {
					v.seen = at(60_000)
				}
				w := &write{rv: 100, verb: updated, v: v, at: arrival(v)}
				e := &event{stamp: tt.stamp, ResourceVersion: tt.rv, seen: at(500), listed: late}
				if got := e.follows(w); got != tt.want {
					t.Errorf("late %t: follows is %t, want %t: %s", late, got, tt.want, tt.reason)
				}
			}
		})
	}
}
