// SPDX-License-Identifier: Apache-2.0

package object

import "time"

// AnnotationScheduled is the annotation that tells when the request to bind a Pod was
// admitted: a Binding's annotations are merged onto its Pod. It is RFC 3339 with
// nanoseconds, by the clock of whoever admitted it, and a hint as every annotation.
const AnnotationScheduled = "lifeline.dev/scheduled"

// FormatScheduled is a time as AnnotationScheduled holds it.
func FormatScheduled(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ParseScheduled reads what FormatScheduled has written; zero for anything else.
func ParseScheduled(s string) time.Time {
	if len(s) > len(time.RFC3339Nano) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() <= 0 {
		return time.Time{}
	}
	return t.UTC()
}
