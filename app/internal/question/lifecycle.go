// SPDX-License-Identifier: Apache-2.0

package question

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Lifecycle is one reconciliation of an object, as questions see it. Fields describes each value. A
// question never changes a Lifecycle.
type Lifecycle struct {
	Trace  trace.TraceID
	Object object.Ref
	// Outcome is empty while the lifecycle is open.
	Outcome string

	// Start counts as the nearest time in 64 bits of nanoseconds.
	Start    time.Time
	Duration time.Duration
	// Phases has the lengths of the phases by their names in Phases. Other phases are missing.
	Phases map[string]time.Duration
	// Steps are the spans of the phases, in any order.
	Steps []Step

	// Values has the fields of data by name: see Field.From. A value is a string, an int64, a time.Time, a
	// time.Duration, a []string without repetitions, or a map[string]string. Empty texts, lists and maps are
	// left out. Lifecycles may share it.
	Values map[string]any
}

// Text returns the text of a field of data; empty without one.
func (l *Lifecycle) Text(name string) string {
	text, _ := l.Values[name].(string)
	return text
}

// Set sets the value of a field of data. nil and "" have no effect.
func (l *Lifecycle) Set(name string, v any) {
	if v == nil || v == "" {
		return
	}
	if l.Values == nil {
		l.Values = map[string]any{}
	}
	l.Values[name] = v
}
