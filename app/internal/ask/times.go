// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// clockForms are the forms of local times.
var clockForms = []struct {
	layout string
	daily  bool
}{
	{"15:04", true}, {time.TimeOnly, true},
	{time.DateOnly, false}, {"2006-01-02 15:04", false}, {time.DateTime, false},
}

// clockTime reads a time as moment does, or a local one: "12:00", the last one before now, "2026-03-01" or
// "2026-03-01 12:00". It is zero for an empty text.
func clockTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range clockForms {
		at, err := time.ParseInLocation(form.layout, text, now.Location())
		if err != nil {
			continue
		}
		if !form.daily {
			return at, nil
		}
		year, month, day := now.Date()
		at = time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), 0, now.Location())
		if at.After(now) {
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	at, err := timestamp.ParseMoment(text, now)
	if err != nil {
		return at, fmt.Errorf(
			"%s %q: it must be a time, such as 12:00, \"2026-03-01 12:00\" or 2026-03-01T12:00:00Z, or "+
				"a duration back from now, such as 90m or 1d",
			flag,
			text,
		)
	}
	return at, nil
}

// inAPI returns a time as a parameter of the API; empty for the zero time.
func inAPI(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
