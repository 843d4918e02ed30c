// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// worseKept is the time for which a change with a notice is remembered. It is longer than any aftermath.
const worseKept = 25 * time.Hour

// worsen adds notices about the aftermaths of changes, one for each change. An aftermath counts from its second span
// on: the first has the first incident alone. The notice about a problem has its change already.
func (l *look) worsen(all *presence, amendments []*span.Trace) {
	for id, at := range l.worse {
		if l.now.Sub(at) > worseKept {
			delete(l.worse, id)
		}
	}
	if !l.wants(Worse) {
		return
	}
	for _, t := range amendments {
		s := lasting(t)
		_, known := l.worse[t.ID]
		if s == nil || known || !l.selects(s.Object.Namespace) || l.wants(Started) && all.byTrace[t.ID.String()] {
			continue
		}
		l.worse[t.ID], l.dirty = l.now, true
		if !l.add(aboutAftermath(t, s, l.now)) {
			l.dropped++
		}
	}
}

// lasting returns an aftermath of t that is not its first span, or that is over; nil without one.
func lasting(t *span.Trace) *span.Span {
	for _, s := range t.Spans {
		if !s.IsAftermath() {
			continue
		}
		for _, kv := range s.Attributes {
			if kv.Key == span.KeyAftermath && kv.Value.AsInt64() > 1 ||
				kv.Key == span.KeyAftermathOver && kv.Value.AsBool() {
				return s
			}
		}
	}
	return nil
}

// aboutAftermath returns a notice about the aftermath in the amendment t. Its object is the Pod of the newest incident,
// until the sender knows the changed object.
func aboutAftermath(t *span.Trace, s *span.Span, now time.Time) Notice {
	after := span.AftermathOf(t)
	of := s.Object
	return Notice{
		ID: t.ID.String() + "/worse", Type: Worse, Time: now.UTC(), Object: &of, Outcome: span.Converged,
		Reason: plain(after.After(string(span.Converged))), Since: after.Converged.UTC(),
		Cause: &problem.Cause{TraceID: t.ID.String(), Start: after.Converged.UTC()},
	}
}
