// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// brief formats a duration with about two digits: 12ms, 0.9s, 4.2s, 2m05s, 3h07m, 2d4h.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + brief(-d)
	case d == 0:
		return "0ms"
	case d < time.Millisecond:
		return "<1ms"
	case d < 500*time.Millisecond:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	case d.Round(100*time.Millisecond) < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d.Round(time.Minute) < 24*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	d = d.Round(time.Hour)
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// precise formats a duration with one digit more than brief.
func precise(d time.Duration) string {
	if d >= 500*time.Millisecond && d.Round(10*time.Millisecond) < 10*time.Second {
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return brief(d)
}

// length formats the duration of s; "…" marks an open span. "~" marks a bound with a precision of a
// second, or a start that is only the latest possible one. If both bounds have seconds, durations below a
// second are "<1s".
func length(s *span.Span, now time.Time) string {
	d := max(0, s.Duration(now))
	text := brief(d)
	switch {
	case coarse(s):
		text = seconds(d)
	case vague(s):
		text = "~" + text
	}
	if s.Open() {
		text += "…"
	}
	return text
}

// vague reports whether a bound of s has a precision of a second or less.
func vague(s *span.Span) bool {
	return s.Start.Source == span.TimeObject || s.End.Source == span.TimeObject ||
		insight.Attribute(s, span.KeyEarliest) != ""
}

// coarse reports whether both bounds of s have a precision of a second.
func coarse(s *span.Span) bool {
	return s.Start.Source == span.TimeObject && s.End.Source == span.TimeObject
}

// seconds formats a duration between two times with a precision of a second.
func seconds(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Second:
		return "<1s"
	case d < time.Minute:
		return fmt.Sprintf("~%ds", d/time.Second)
	}
	return "~" + brief(d)
}
