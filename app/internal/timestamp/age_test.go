// SPDX-License-Identifier: Apache-2.0

package timestamp

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90m":        90 * time.Minute,
		"1d":         day,
		"2w":         14 * day,
		"1w2d":       9 * day,
		"2w3d12h30m": 17*day + 12*time.Hour + 30*time.Minute,
		"0d":         0, "-5m": -5 * time.Minute,
	} {
		if got, err := ParseAge(text); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"",
		"d",
		"1",
		"1d-5m",
		"1d2w",
		"1dx",
		"yesterday",
		"99999d",
		"9999w99999d",
		"-1d",
		"1.5d",
	} {
		if text == "99999d" {
			continue // 273 years fit
		}
		if got, err := ParseAge(text); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
}

func FuzzParseAge(f *testing.F) {
	for _, text := range []string{"", "1d", "2w3d12h", "9999w99999d", "1d-5m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseAge(text)
		plain, plainErr := time.ParseDuration(text)
		if plainErr == nil && (err != nil || d != plain) {
			t.Errorf("%q: %s, %v, want %s", text, d, err, plain)
		}
	})
}
