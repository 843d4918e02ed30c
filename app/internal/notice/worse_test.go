// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// aftermath returns an amendment of a trace with a span of its aftermath.
func aftermath(of *span.Trace, series, number int, over bool) *span.Trace {
	a := &span.Aftermath{
		Converged: at(0), Window: 30 * time.Minute, Over: over, Latest: at(540), BeforeWindow: 24 * time.Hour,
		Incidents: span.Incidents{
			Restarts: 14, Exits: []span.Exit{{Container: "app", Code: 137, Reason: "OOMKilled", Count: 14}},
		},
	}
	pod := ref("web-1")
	pod.Kind.Kind, pod.Group = "Pod", ""
	return &span.Trace{ID: of.ID, Spans: []*span.Span{{
		TraceID: of.ID, Name: span.NameAftermath, Object: pod, Start: span.Time{Time: a.Latest},
		Attributes: a.Attributes(series, number),
	}}}
}

// TestWorse: a change has one notice about its aftermath, from the second span on, and none beside a problem.
func TestWorse(t *testing.T) {
	first, second := deployment(1, "", 0), deployment(2, "", 0)
	receivers := everything()
	b, known := newBoard(t, receivers, nil), 0
	look := func(seconds int, problems *problem.Snapshot, amendments ...*span.Trace) string {
		b.Look(at(seconds), problems, amendments, false)
		return due(b, &known)
	}
	got := []string{
		look(60, list(), aftermath(first, 0, 1, false)),
		look(120, list(), aftermath(first, 0, 2, false), aftermath(second, 0, 1, true)),
		look(180, list(), aftermath(first, 0, 3, false), aftermath(first, 1, 2, false)),
	}
	if d := cmp.Diff([]string{"", "worse, worse", ""}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	n := b.receivers[0].queue.all[0].Notice
	const reason = "converged; since then 14 restarts in 9 min (0 in the day before): container app exited with 137 " +
		"(OOMKilled)"
	if n.Reason != reason || n.ID != first.ID.String()+"/worse" || n.subject() != "Pod/shop/web-1" ||
		n.title() != "Change converged, then worse" || n.Outcome != span.Converged {
		t.Errorf("got %+v", n)
	}
	data, _, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	b = newBoard(t, receivers, data)
	known = len(b.receivers[0].queue.all)
	if got := look(240, list(), aftermath(first, 0, 4, true)); got != "" {
		t.Errorf("after a restart: %s", got)
	}
	third := deployment(3, "", 0)
	caused := broken("p9", "crash_loop", 1000, "other")
	caused.Cause = &problem.Cause{TraceID: third.ID.String()}
	if got := look(300, list(caused), aftermath(third, 0, 2, false)); got != "" {
		t.Errorf("beside a problem: %s", got)
	}
}
