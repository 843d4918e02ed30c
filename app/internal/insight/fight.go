// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Fight describes the fight of a trace: the fields, the opponents, and the number of overwritten
// values so far, like "spec.replicas with user-b, 5 times in 40s". It names the object unless that is
// the root's. The text is not escaped. It is empty without a fight.
func Fight(t *span.Trace) string {
	var of *span.Span
	count := int64(0)
	for _, s := range t.Spans {
		if n := value(s, span.KeyFightCount).AsInt64(); n > count {
			of, count = s, n
		}
	}
	if of == nil {
		return ""
	}
	fields := List(of, span.KeyFight)
	text := strings.Join(fields[:min(1, len(fields))], "")
	if len(fields) > 1 {
		text += fmt.Sprintf(" and %d more", len(fields)-1)
	}
	if root := t.Root(); root == nil || root.Object != of.Object {
		text += " of " + of.Object.Kind.Kind + " " + of.Object.Name
	}
	text += " with " + strings.Join(List(of, span.KeyFightOpponents), " and ")
	times := fmt.Sprintf("%d times", count)
	if count == 1 {
		times = "once"
	}
	took := time.Duration(value(of, span.KeyFightDuration).AsFloat64() * float64(time.Second))
	return span.Bound(fmt.Sprintf("%s, %s in %s", text, times, max(time.Second, took.Round(time.Second))))
}

// value returns the value of the span's attribute k; invalid without one.
func value(s *span.Span, k attribute.Key) attribute.Value {
	for _, kv := range s.Attributes {
		if kv.Key == k {
			return kv.Value
		}
	}
	return attribute.Value{}
}
