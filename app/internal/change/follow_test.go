// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
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
				v := &history.Version{Intent: &history.Intent{}, ResourceVersion: 100, Seen: at(400), Listed: late}
				v.Managers = append(v.Managers, &observation.Manager{Name: "kubectl", Time: second})
				if late {
					v.Seen = at(60_000)
				}
				w := &Write{RV: 100, Verb: history.Updated, Version: v, At: history.Arrival(v)}
				e := &history.Event{Stamp: tt.stamp, ResourceVersion: tt.rv, Seen: at(500), Listed: late}
				if got := Follows(e, w); got != tt.want {
					t.Errorf("late %t: follows is %t, want %t: %s", late, got, tt.want, tt.reason)
				}
			}
		})
	}
}
