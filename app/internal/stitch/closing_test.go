// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// under adds a span below the root of a trace, at a time after epoch.
func under(t *span.Trace, id byte, from, until time.Duration) *span.Span {
	var f foreign
	s := f.add("anything@host", "i", "work", by{1, id}, 0, millis(from), millis(until))
	s.TraceID, s.Parent = t.ID, t.Root().ID
	s.Origin.TraceID, s.Origin.Parent = s.TraceID, s.Parent
	return s
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TestClosed: a local process sends a span below the root of a trace every nine minutes. In the
// past each span prolonged the time in which the trace accepts spans.
func TestClosed(t *testing.T) {
	ours, _, _ := web()
	s := stitch.New(stitch.Options{})
	s.Join(ours.Trace, true, now)
	joined, passed := 0, 0
	for i := range 20 {
		since := time.Duration(i) * 9 * time.Minute
		s.Accept([]*span.Span{under(ours.Trace, byte(i+1), since, since+time.Second)}, now.Add(since))
		for _, late := range s.Late() {
			joined += len(late.Spans)
		}
		passed += len(s.Expire(now.Add(since)))
	}
	passed += len(s.Expire(now.Add(24 * time.Hour)))
	st := s.Stats()
	if joined != 7 || passed != 0 || st.Late != 7 || st.Overdue != 13 || st.Buffered != 0 {
		t.Errorf("of 20 spans in three hours %d were joined and %d traces passed, want those of the first hour and "+
			"none: %+v", joined, passed, st)
	}
}

// TestOutage: a Collector sends its buffered spans after an outage of the server.
func TestOutage(t *testing.T) {
	ours, _, _ := web()
	s := stitch.New(stitch.Options{})
	s.Join(ours.Trace, true, now)
	s.Expire(now.Add(59 * time.Minute))
	s.Accept(all(), now.Add(59*time.Minute))
	late := s.Late()
	if len(late) != 1 || len(late[0].Spans) != len(all()) {
		t.Errorf("after an outage of an hour came %v", late)
	}
}

// TestClosedOutside: a pipeline continues for hours after its change. The trace has the pipeline's
// ID, so its spans pass.
func TestClosedOutside(t *testing.T) {
	ours, root, _ := web()
	root.Parent, root.RemoteParent = trace.SpanID{7}, true
	s := stitch.New(stitch.Options{})
	s.Join(ours.Trace, true, now)
	s.Expire(now.Add(3 * time.Hour))
	s.Accept([]*span.Span{under(ours.Trace, 1, 2*time.Hour, 3*time.Hour)}, now.Add(3*time.Hour))
	passed := s.Expire(now.Add(4 * time.Hour))
	if st := s.Stats(); len(passed) != 1 || passed[0].ID != ours.ID || st.Overdue != 0 || st.Passed != 1 {
		t.Errorf("%d traces passed: %+v", len(passed), st)
	}
}

// TestClosedAndWritten: an operator sends the context of an old trace with a new write. The
// audit-id identifies the new write's trace.
func TestClosedAndWritten(t *testing.T) {
	ours, _, _ := web()
	s := stitch.New(stitch.Options{})
	s.Join(ours.Trace, true, now)
	s.Expire(now.Add(2 * time.Hour))
	var f foreign
	start := millis(2 * time.Hour)
	request := f.request(by{1, 1}, patchPod, "audit-next", start+1, start+4)
	for _, part := range f.list {
		part.TraceID, part.Origin.TraceID = ours.ID, ours.ID
	}
	request.Parent = ours.Root().ID
	request.Origin.Parent = request.Parent
	s.Accept(f.list, now.Add(2*time.Hour))
	next := newStory("next")
	next.write(next.add(nil, "reconcile Pod", ref("", "Pod", "web-1"), start, start+10), "update", "audit-next", start,
		start+5)
	if got := s.Join(next.Trace, true, now.Add(2*time.Hour)); len(got.Spans) != len(next.Spans)+len(f.list) {
		t.Errorf("got\n%s", outline(got))
	}
	if st := s.Stats(); st.Overdue != 0 {
		t.Errorf("%+v", st)
	}
}

// TestUntimely: a span joins a trace only near its own time.
func TestUntimely(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		from, until time.Duration
		in          bool
	}{
		"within":      {"as usual", time.Second, 2 * time.Second, true},
		"shortly":     {"clocks differ", -59 * time.Minute, -58 * time.Minute, true},
		"over it":     {"what is above a change may last for days", -48 * time.Hour, time.Hour, true},
		"after":       {"an hour is for what comes late", 59 * time.Minute, 2 * time.Hour, true},
		"long before": {"it was over before the change", -3 * time.Hour, -2 * time.Hour, false},
		"long after":  {"the change was over", 2 * time.Hour, 2 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, _, _ := web()
			s := stitch.New(stitch.Options{})
			s.Join(ours.Trace, true, now)
			var f foreign
			request := f.add("apiserver@cp", "s", patchPod, by{9, 1}, 0, millis(tc.from), millis(tc.until),
				attribute.String("audit-id", "audit-web-1"))
			s.Accept([]*span.Span{under(ours.Trace, 1, tc.from, tc.until), request}, now)
			late, passed := s.Late(), s.Expire(now.Add(time.Minute))
			st := s.Stats()
			switch {
			case tc.in && (len(late) != 1 || len(late[0].Spans) != 2 || st.Untimely != 0):
				t.Errorf("%s: got %v, %+v", tc.reason, late, st)
			case !tc.in && (len(late) != 0 || st.Untimely != 1 || len(passed) != 1 || passed[0].ID != request.TraceID):
				t.Errorf("%s: got %v, passed %v, %+v", tc.reason, late, passed, st)
			}
		})
	}
}

// TestUntimelyUntilItIsKnown: better times may move the start of a trace.
func TestUntimelyUntilItIsKnown(t *testing.T) {
	ours, root, _ := web()
	s := stitch.New(stitch.Options{})
	var f foreign
	request := f.add("apiserver@cp", "s", postDeployments, by{9, 1}, 0, millis(-70*time.Minute),
		millis(-69*time.Minute), attribute.String("audit-id", "audit-deployment"))
	s.Accept([]*span.Span{request, under(ours.Trace, 1, -70*time.Minute, -69*time.Minute)}, now)
	if got := s.Join(ours.Trace, false, now); got != ours.Trace {
		t.Errorf("they joined\n%s", outline(got))
	}
	earlier := *ours.Trace
	moved := *root
	moved.Start = watched(millis(-65 * time.Minute))
	earlier.Spans = append([]*span.Span{&moved}, ours.Spans[1:]...)
	if got := s.Join(&earlier, true, now); len(got.Spans) != len(ours.Spans)+2 {
		t.Errorf("they did not join\n%s", outline(got))
	}
}
