// SPDX-License-Identifier: Apache-2.0

package export

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"
)

var (
	errQueueFull = fmt.Errorf("more than %d spans were waiting", maxQueue)
	errTooLate   = errors.New("no time was left to send them")
)

// maxReasons limits the different reasons in an error.
const maxReasons = 5

// losses counts undelivered spans by reason.
type losses struct {
	reasons []error
	counts  []int
	// last is the error of the latest failed attempt.
	last error
}

// count counts n spans lost for reason; nil means that there was no attempt. It reports whether the
// reason is new.
func (l *losses) count(n int, reason error) bool {
	if reason == nil {
		reason = errTooLate
	}
	for i, known := range l.reasons {
		if known.Error() == reason.Error() || i == maxReasons-1 {
			l.counts[i] += n
			return false
		}
	}
	l.reasons, l.counts = append(l.reasons, reason), append(l.counts, n)
	return true
}

// err returns an error with the lost spans out of total, or nil.
func (l *losses) err(total int, to target) error {
	lost := 0
	for _, n := range l.counts {
		lost += n
	}
	if lost == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %d spans could not be sent to %s (%s)", lost, total, to.name, to.origin)
	for _, reason := range l.reasons {
		err = fmt.Errorf("%w: %w", err, reason)
	}
	return err
}

// key identifies a span.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

// maxSeen limits the spans in one generation of seen.
const maxSeen = 250_000

// seen records queued spans, at least the latest 250,000. An older span is sent again if it is
// queued again, which OTLP allows.
type seen struct {
	young, old map[key]struct{}
	total      int
}

// add reports whether k is new.
func (s *seen) add(k key) bool {
	if _, known := s.young[k]; known {
		return false
	}
	if _, known := s.old[k]; known {
		return false
	}
	if s.young == nil || len(s.young) >= maxSeen {
		s.young, s.old = map[key]struct{}{}, s.young
	}
	s.young[k] = struct{}{}
	s.total++
	return true
}
