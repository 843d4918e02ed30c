// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// conclude adds the engine's results to the look: finished, late and open traces.
func (r *recorder) conclude(ctx context.Context, l *look, now time.Time) {
	finished, late, open := r.engine.Take(now), r.engine.Amendments(), r.engine.Traces(now)
	if r.looks++; r.looks%checkEvery == 0 && r.Differs != nil {
		r.Differs(r.engine.Differences(now))
	}
	if r.Opened != nil {
		r.Opened(r.engine.Open(now), open)
	}
	problems := r.engine.AllProblems(now)
	if r.Problems != nil {
		r.Problems(problems)
	}
	finished, open = r.joining.finished(finished, now), r.joining.open(open, now)
	r.joining.amended(late)
	late = append(late, r.joining.late(now)...)
	r.tell(l, finished, late, problems, now)
	r.finish(l, finished, now)
	r.amend(ctx, l, late)
	r.unfold(l, open, now)
	r.finish(l, r.orphans.adopt(l, now), now)
	r.orphans.show(l, r.prints)
	l.withdraw(r.prints)
	for _, id := range l.withdrawn {
		r.joining.forget(id)
	}
	if r.joining != nil {
		maps.Copy(l.State, r.joining.copyAll(now))
	}
}

// tell adds the notices that are due.
func (r *recorder) tell(l *look, finished, late []*span.Trace, problems *problem.Snapshot, now time.Time) {
	if r.Counts != nil {
		r.Counts.Look(problems, finished)
	}
	if r.Notices != nil {
		r.Notices.Look(now, problems, slices.Concat(finished, late), !r.Tells())
		r.saveNotices(l, false)
	}
}

// finish adds finished traces to the log, if they are kept.
func (r *recorder) finish(l *look, finished []*span.Trace, now time.Time) {
	l.finished = append(l.finished, finished...)
	for _, t := range finished {
		if r.Sampling().keeps(t, now) {
			l.Entries = append(l.Entries, &journal.Entry{Item: journal.Item{For: r.consumers(r.sends(t))}, Trace: t})
		}
	}
}

// consumers returns the consumers of an entry.
func (*recorder) consumers(sent bool) journal.Consumer {
	if sent {
		return journal.Archive | journal.Sender
	}
	return journal.Archive
}

// sends reports whether a finished trace is sent.
func (r *recorder) sends(t *span.Trace) bool { return r.Sends != nil && r.Sends(t) }

// amend adds the amendments of kept traces to the log.
func (r *recorder) amend(ctx context.Context, l *look, late []*span.Trace) {
	for _, t := range late {
		kept, sent, err := r.journal.Kept(ctx, t.ID)
		if err != nil { // a lost journal: the next commit replaces it
			kept, sent = true, false
		}
		for _, e := range l.Entries {
			if e.Trace.ID == t.ID && !e.Amends {
				kept, sent = true, e.For&journal.Sender != 0
			}
		}
		if kept {
			l.Entries = append(l.Entries, &journal.Entry{
				Item: journal.Item{Amends: true, For: r.consumers(sent)}, Trace: t,
			})
		}
	}
}

// unfold adds open traces to the look.
func (r *recorder) unfold(l *look, open []*span.Trace, now time.Time) {
	was := r.shown
	r.shown = make(map[*span.Trace]uint64, len(open))
	for _, t := range open {
		r.orphans.known(t.ID)
		if !r.Sampling().keeps(t, now) {
			continue
		}
		looks, known := was[t]
		if !known {
			looks = fingerprint(t)
		}
		r.shown[t] = looks
		l.show(t, looks, r.prints)
	}
}
