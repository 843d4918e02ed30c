// SPDX-License-Identifier: Apache-2.0

package object

import "time"

// AnnotationScheduled is the annotation with the admission time of the request that bound a Pod. A
// Binding's annotations are merged into its Pod. The value is RFC 3339 with nanoseconds, by the
// clock of the admitting server. Like every annotation it is only a hint.
const AnnotationScheduled = "lifeline.dev/scheduled"

// FormatScheduled formats a time for AnnotationScheduled.
func FormatScheduled(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ParseScheduled parses the result of FormatScheduled. It returns the zero time for anything else.
func ParseScheduled(s string) time.Time {
	if s == "" || len(s) > len(time.RFC3339Nano) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() <= 0 {
		return time.Time{}
	}
	return t.UTC()
}
