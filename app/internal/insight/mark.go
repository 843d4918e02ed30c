// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Mark sets the attribute lifeline.critical_path on the spans of t's critical path, for display and
// queries in a backend. Mark is idempotent.
func Mark(t *span.Trace, now time.Time) {
	mark := span.KeyCriticalPath.Bool(true)
	for _, s := range CriticalPath(t, now) {
		if s.Duration() > 0 && !slices.ContainsFunc(s.Span.Attributes, func(a attribute.KeyValue) bool {
			return a.Key == mark.Key
		}) {
			s.Span.Attributes = append(s.Span.Attributes, mark)
		}
	}
}
