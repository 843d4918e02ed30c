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
	watchSource            = "watch"
	objectSource           = "object"
	eventSource            = "event"
)

// slack is how much sooner, or after a second has ended how much later, two
// observers on a busy machine may see the same.
const slack = 3 * time.Second

// comparison holds what one server has against a reference.
type comparison struct {
	t testing.TB
	// away is for how long at most the server was without its watches.
	away time.Duration

	// tardy are the messages of Events that nobody can place, see tardy.
	tardy map[string]bool

	traces, spans, amended, same, later, looser int
	// bad is how much was wrong, of which only the first is shown.
	bad int
}

const shown = 40

func (c *comparison) wrong(format string, args ...any) {
	c.t.Helper()
	if c.bad++; c.bad <= shown {
		c.t.Errorf(format, args...)
	}
}

// compare checks that got has the traces of want, and no other.
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
		"%d traces, %d spans, %d amendments of either: times the same %d, arrivals later or sooner %d, by the object instead of an arrival or the reverse %d; wrong %d",
		c.traces,
		c.spans,
		c.amended,
		c.same,
		c.later,
		c.looser,
		c.bad,
	)
}

// outline is a trace for a person.
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
			c.time(s, "start", s.Start, o.Start, s.Attributes[sourceStart], o.Attributes[sourceStart])
			c.time(s, "end", s.End, o.End, s.Attributes[sourceEnd], o.Attributes[sourceEnd])
		}
	}
}

// unamended are the spans of a trace by ID, with what its amendments tell where
// it would be told had it been known in time: whether a trace was handed on
// before the last Events came is for each server's machine to decide.
func (c *comparison) unamended(tr *harness.Trace) map[string]*harness.Span {
	spans := byID(tr)
	for id, s := range spans {
		if s.Name != "amend" {
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

// differ tells the lines that only one of two has, by span.
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

// without are the lines of a that b has not, or not so often.
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

// tardy are the messages of the Events that the cluster stored so long after
// what they tell that their traces may have been handed on and forgotten. A
// controller writes Events one by one: on a busy machine they wait for it.
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
		if lag >= settle-time.Second || e.Count > 1 { // a count says nothing of each
			out[e.Message] = true
		}
	}
	t.Logf("%d of %d Events were stored late, at most %s", len(out), len(list.Items), most)
	return out
}

// facts are what must be the same of spans, one text for each by ID, but for
// tardy Events.
func facts(spans map[string]*harness.Span, tardy map[string]bool) map[string][]string {
	out := map[string][]string{}
	for id, s := range spans {
		lines := []string{fmt.Sprintf("%s (%s) below %s, error %t", s.Name, s.Service, s.Parent, s.Error)}
		for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
			if key != sourceStart && key != sourceEnd && key != "lifeline.critical_path" {
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
				if !strings.HasPrefix(key, "lifeline.time.source") {
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

// time compares one boundary. What is no arrival is the same; an arrival may be
// later where the server was away, and then it may know the second alone.
func (c *comparison) time(s *harness.Span, which string, want, got time.Time, wantBy, gotBy string) {
	c.t.Helper()
	diff := got.Sub(want)
	ok := false
	switch {
	case diff == 0:
		c.same++
		return
	case wantBy == eventSource && gotBy == eventSource:
		// What a message says of a duration, counted back from an arrival.
		c.later++
		ok = diff.Abs() < time.Second+slack
	case wantBy == watchSource && gotBy == watchSource:
		c.later++
		ok = diff > -slack && diff < c.away+slack
	case wantBy == watchSource && gotBy == objectSource:
		// The beginning of the second in which it was.
		c.looser++
		ok = diff <= 0 && diff > -time.Second-slack
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
