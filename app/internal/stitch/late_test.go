// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func TestFinished(t *testing.T) {
	ours, _, _ := web()
	spans := all()
	s := stitch.New(stitch.Options{})
	// Of the request only the middle arrives before its trace is returned.
	s.Accept(spans[1:2], now)
	s.Accept(spans[4:], now)
	whole := s.Join(ours.Trace, true, now)
	if got := len(edgesOf(whole)); got != 9 {
		t.Errorf("%d spans of others are in\n%s", got, outline(whole))
	}
	if late := s.Late(); len(late) != 0 {
		t.Errorf("late: %v", late)
	}
	s.Accept(spans[:1], now)
	s.Accept(spans[3:4], now)
	s.Accept(spans[4:], now) // repeated
	var added []*span.Span
	for range 3 {
		for _, l := range s.Late() {
			if l.ID != ours.ID {
				t.Errorf("late for trace %s", l.ID)
			}
			added = append(added, l.Spans...)
		}
		s.Accept(spans[:3], now)
	}
	whole.Spans = span.TreeOrder(slices.Concat(whole.Spans, added))
	check(t, ours.Trace, whole)
	want := stitch.New(stitch.Options{})
	want.Accept(all(), now)
	if diff := cmp.Diff(sorted(edgesOf(want.Join(ours.Trace, false, now))), sorted(edgesOf(whole))); diff != "" {
		t.Errorf("all that came, early or late, once: -want +got:\n%s", diff)
	}
	if s.Join(ours.Trace, false, now) != ours.Trace {
		t.Error("it was handed out, and is joined again")
	}
	st := s.Stats()
	if st.Joined != 9 || st.Late != 4 || st.Buffered != 0 || st.Index == 0 {
		t.Errorf("stats: %+v", st)
	}
	var more foreign
	s.Accept([]*span.Span{more.add("apiserver@cp", "s", patchPod, by{9, 1}, 0, 1, 2,
		attribute.String("audit-id", "audit-web-1"))}, now.Add(55*time.Minute))
	s.Join(newStory("later").Trace, true, now.Add(time.Minute))
	if late := s.Late(); len(late) != 1 {
		t.Errorf("late after 55 min: %v", late)
	}
	s.Expire(now.Add(time.Hour + time.Second))
	if st := s.Stats(); st.Changes != 1 || st.Index != 0 {
		t.Errorf("late spans prolonged the time of their trace: %+v", st)
	}
	s.Expire(now.Add(2 * time.Hour))
	if st := s.Stats(); st.Index != 0 || st.Changes != 0 {
		t.Errorf("after it was forgotten: %+v", st)
	}
}

// TestAmended: the audit log reports a write after its trace was returned. The write's request is
// joined, whether it arrives first or last.
func TestAmended(t *testing.T) {
	for name, first := range map[string]bool{"request first": true, "write first": false} {
		t.Run(name, func(t *testing.T) {
			ours, _, pod := web()
			more := story{&span.Trace{ID: ours.ID}}
			write := more.write(pod, "update", "audit-late", 3000, 3005)
			var f foreign
			f.request(by{1, 1}, patchPod, "audit-late", 3001, 3004)
			s := stitch.New(stitch.Options{})
			s.Join(ours.Trace, true, now)
			if first {
				s.Accept(f.list, now)
				if late := s.Late(); len(late) != 0 {
					t.Errorf("before anybody has told of the write: %v", late)
				}
			}
			s.Amend(more.Trace)
			s.Amend(more.Trace)
			if !first {
				s.Accept(f.list, now)
			}
			late := s.Late()
			if len(late) != 1 || late[0].ID != ours.ID || len(late[0].Spans) != 4 ||
				late[0].Spans[0].Parent != write.ID || late[0].Spans[0].Evidence != span.ByRequest {
				t.Fatalf("late: %v", late)
			}
			s.Expire(now.Add(2 * time.Hour))
			if st := s.Stats(); st.Index != 0 || st.Changes != 0 || st.Buffered != 0 {
				t.Errorf("after it was forgotten: %+v", st)
			}
		})
	}
	s := stitch.New(stitch.Options{})
	ours, _, _ := web()
	s.Amend(ours.Trace) // of an unknown trace
	if st := s.Stats(); st.Index != 0 || st.Changes != 0 {
		t.Errorf("%+v", st)
	}
}

func TestForget(t *testing.T) {
	ours, _, _ := web()
	s := stitch.New(stitch.Options{})
	s.Accept(all(), now)
	s.Join(ours.Trace, false, now)
	s.Forget(ours.ID)
	if passed := s.Expire(now.Add(2 * time.Hour)); len(passed) != 2 {
		t.Errorf("what was joined to a trace that is no more waits again: %v", passed)
	}
}
