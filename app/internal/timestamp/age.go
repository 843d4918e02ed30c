// SPDX-License-Identifier: Apache-2.0

package timestamp

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// days matches the days and weeks in front of a duration, and its rest.
var days = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$`)

// ParseAge reads a duration back from now: as time.ParseDuration does, and with weeks and days in
// front: "90m", "1d", "2w3d12h". A day has 24 hours.
func ParseAge(text string) (time.Duration, error) {
	m := days.FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[2] == "" {
		return time.ParseDuration(text)
	}
	var rest time.Duration
	if m[3] != "" {
		var err error
		if rest, err = time.ParseDuration(m[3]); err != nil {
			return 0, fmt.Errorf("invalid duration %q", text)
		}
	}
	weeks, _ := strconv.Atoi("0" + m[1])
	n, _ := strconv.Atoi("0" + m[2])
	hours := int64(weeks*7+n) * 24
	if rest < 0 || hours > int64((math.MaxInt64-rest)/time.Hour) {
		return 0, fmt.Errorf("invalid duration %q", text)
	}
	return time.Duration(hours)*time.Hour + rest, nil
}

// ParseMoment reads a duration back from now, or a time (RFC 3339).
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if age, err := ParseAge(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q: it must be a duration back from now, such as 90m or 1d, or a time, such as "+
			"2026-03-01T12:00:00Z", text)
	}
	return at, nil
}
