// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

const (
	sourceStart, sourceEnd = "lifeline.time.source.start", "lifeline.time.source"
	// earliest is on what was written while a server was down.
	earliest     = "lifeline.time.earliest"
	watchSource  = "watch"
	objectSource = "object"
	eventSource  = "event"
)

// slack is the tolerated difference between the arrivals of one event at two servers on a busy
// machine.
const slack = 3 * time.Second

// comparison compares the traces of a server with those of a reference.
type comparison struct {
	t testing.TB
	// away is the longest time in which the server had no watches.
	away time.Duration

	// tardy are the messages of late Events to ignore; see the function tardy.
	tardy map[string]bool

	traces, spans, amended, same, later, looser int
	// bad counts the differences.
	bad int
}

// shown limits the reported differences.
const shown = 40

func (c *comparison) wrong(format string, args ...any) {
	c.t.Helper()
	if c.bad++; c.bad <= shown {
		c.t.Errorf(format, args...)
	}
}

// compare checks that got has the traces of want and no others.
func (c *comparison) compare(want, got map[string]*harness.Trace) {
	c.t.Helper()
	for _, id := range harness.IDs(want) {
		if got[id] == nil {
			c.wrong("trace %s is missing:\n%s", id, outline(want[id]))
		}
	}
	for _, id := range harness.IDs(got) {
		if want[id] == nil {
			c.wrong("trace %s was invented:\n%s", id, outline(got[id]))
		}
	}
	for _, id := range harness.IDs(want) {
		if got[id] != nil {
			c.traces++
			c.trace(want[id], got[id])
		}
	}
	c.t.Logf(
		"%d traces, %d spans, %d amendments of both: equal times %d, different arrivals %d, "+
			"times from the object instead of an arrival or the reverse %d; wrong %d",
		c.traces,
		c.spans,
		c.amended,
		c.same,
		c.later,
		c.looser,
		c.bad,
	)
}

// outline returns a trace in readable form.
func outline(tr *harness.Trace) string {
	return harness.Names{}.Outline(tr)
}

func (c *comparison) trace(want, got *harness.Trace) {
	c.t.Helper()
	if len(byID(got)) != len(got.Spans) {
		c.wrong("trace %s has spans twice:\n%s", got.ID, outline(got))
	}
	w, g := c.unamended(want), c.unamended(got)
	if diff := differ(facts(w, c.tardy), facts(g, c.tardy)); diff != "" {
		c.wrong("trace %s (-reference +killed):\n%s\nreference:\n%s", want.ID, diff, outline(want))
	}
	for id, s := range w {
		if o := g[id]; o != nil {
			c.spans++
			if !c.within(s, o) {
				c.time(s, "start", s.Start, o.Start, s.Attributes[sourceStart], o.Attributes[sourceStart])
			}
			c.time(s, "end", s.End, o.End, s.Attributes[sourceEnd], o.Attributes[sourceEnd])
		}
	}
}

// unamended returns the spans of a trace by ID, with the Events of its amendments on the amended
// spans. Whether a late Event is in an amendment depends on the speed of the machine.
func (c *comparison) unamended(tr *harness.Trace) map[string]*harness.Span {
	spans := byID(tr)
	for id, s := range spans {
		if s.Name != "late fact" {
			continue
		}
		c.amended++
		delete(spans, id)
		if above := spans[s.Parent]; above != nil {
			whole := *above
			whole.Events = slices.Concat(above.Events, s.Events)
			spans[s.Parent] = &whole
		}
	}
	return spans
}

// differ returns the lines that only one of both has, by span; "" if there are none.
func differ(want, got map[string][]string) string {
	var out strings.Builder
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if slices.Equal(want[id], got[id]) {
			continue
		}
		fmt.Fprintf(&out, "  span %s: %s\n", id, strings.Join(all[id][:1], ""))
		for _, line := range without(want[id], got[id]) {
			fmt.Fprintf(&out, "  - %s\n", line)
		}
		for _, line := range without(got[id], want[id]) {
			fmt.Fprintf(&out, "  + %s\n", line)
		}
	}
	return out.String()
}

// without returns the lines of a that are not in b, or less often.
func without(a, b []string) []string {
	left := slices.Clone(b)
	var out []string
	for _, line := range a {
		if i := slices.Index(left, line); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		out = append(out, line)
	}
	return out
}

func byID(tr *harness.Trace) map[string]*harness.Span {
	out := map[string]*harness.Span{}
	for _, s := range tr.Spans {
		out[s.ID] = s
	}
	return out
}

// tardy returns the messages of Events that the cluster stored late, when their traces may have
// been finished and removed. A controller writes Events one by one, and on a busy machine they
// wait.
func tardy(t *testing.T, ns string, settle time.Duration) map[string]bool {
	t.Helper()
	list, err := client(t).CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, most := map[string]bool{}, time.Duration(0)
	for i := range list.Items {
		e := &list.Items[i]
		lag := e.CreationTimestamp.Sub(e.FirstTimestamp.Time)
		if e.FirstTimestamp.IsZero() {
			continue
		}
		most = max(most, lag)
		if lag >= settle-time.Second || e.Count > 1 { // the lag of a repeated Event is unknown
			out[e.Message] = true
		}
	}
	t.Logf("%d of %d Events were stored late, at most %s", len(out), len(list.Items), most)
	return out
}

// facts returns the properties of spans that must be equal, as lines by ID. It leaves out tardy
// Events.
func facts(spans map[string]*harness.Span, tardy map[string]bool) map[string][]string {
	out := map[string][]string{}
	for id, s := range spans {
		lines := []string{fmt.Sprintf("%s (%s) below %s, error %t", s.Name, s.Service, s.Parent, s.Error)}
		for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
			if key != sourceStart && key != sourceEnd && key != earliest && key != "lifeline.critical_path" {
				lines = append(lines, key+"="+s.Attributes[key])
			}
		}
		var rest []string
		for _, l := range s.Links {
			rest = append(rest, fmt.Sprintf("link %s to %s %s", l.Why, l.Trace, l.Span))
		}
		for _, e := range s.Events {
			if tardy[e.Attributes["lifeline.message"]] {
				continue
			}
			var said []string
			for _, key := range slices.Sorted(maps.Keys(e.Attributes)) {
				if key != earliest && !strings.HasPrefix(key, "lifeline.time.source") {
					said = append(said, key+"="+e.Attributes[key])
				}
			}
			rest = append(rest, "event "+e.Name+" "+strings.Join(said, " "))
		}
		slices.Sort(rest)
		out[id] = append(lines, rest...)
	}
	return out
}

// within reports whether the start of got is a range that contains that of want: nothing shows the time of a write
// while a server was down.
func (c *comparison) within(want, got *harness.Span) bool {
	since, err := time.Parse(time.RFC3339, got.Attributes[earliest])
	if err != nil || want.Start.Before(since.Add(-slack)) || got.Start.Before(want.Start.Add(-slack)) {
		return false
	}
	c.looser++
	return got.Start.Sub(want.Start) < c.away+slack
}

// time compares the start or end of a span. The time of an arrival may be later if the server was
// down, or be replaced by the object's time, with a precision of a second. Other times must be
// equal.
func (c *comparison) time(s *harness.Span, which string, want, got time.Time, wantBy, gotBy string) {
	c.t.Helper()
	diff := got.Sub(want)
	ok := false
	switch {
	case diff == 0:
		c.same++
		return
	case wantBy == eventSource && gotBy == eventSource:
		// The duration in a message, subtracted from the time of an arrival.
		c.later++
		ok = diff.Abs() < time.Second+slack
	case wantBy == watchSource && gotBy == watchSource:
		c.later++
		ok = diff > -slack && diff < c.away+slack
	case wantBy == watchSource && gotBy == objectSource:
		// The object's time is a whole second, or the latest possible time by the seconds of others. A busy KWOK
		// plays a stage twice, and then writes the time of a condition again.
		c.looser++
		ok = diff < min(c.away, 2*time.Second)+slack && diff > -time.Second-slack
	case wantBy == objectSource && gotBy == watchSource:
		c.looser++
		ok = diff >= -slack && diff < c.away+slack
	case wantBy != gotBy:
		c.looser++
		ok = diff.Abs() < time.Second+slack
	}
	if !ok {
		c.wrong(
			"trace %s: %s of %s %s %s: reference %s (%s), killed %s (%s): %s",
			s.Trace,
			which,
			s.Name,
			s.Kind(),
			s.Object(),
			want.Format(timeFormat),
			wantBy,
			got.Format(timeFormat),
			gotBy,
			diff,
		)
	}
}

const timeFormat = "15:04:05.000000"
