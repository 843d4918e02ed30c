// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// kept has the spans at a backend by ID, with all copies and their senders.
type kept struct {
	spans   map[string]*harness.Span
	senders map[string][]*harness.Span
}

func collect(c *harness.Collector, want func(*harness.Span) bool) *kept {
	k := &kept{spans: map[string]*harness.Span{}, senders: map[string][]*harness.Span{}}
	for _, s := range c.Spans(want) {
		id := s.Trace + "/" + s.ID
		k.spans[id] = s
		k.senders[id] = append(k.senders[id], s)
	}
	return k
}

// came returns the sender and the time of each copy of a span.
func (k *kept) came(id string) []string {
	var out []string
	for _, s := range k.senders[id] {
		out = append(out, s.Sender+" at "+clock(s.Came))
	}
	return out
}

// tells reports whether s is an amendment whose events are also on other spans of its object. The
// same event may come in time for one server, and too late for another that finished the trace a
// moment earlier.
func (k *kept) tells(s *harness.Span) bool {
	if s.Name != "late fact" {
		return false
	}
	told := func(e harness.Event) bool {
		for _, other := range k.spans {
			if other.Kind() == s.Kind() && other.Object() == s.Object() &&
				slices.ContainsFunc(other.Events, func(known harness.Event) bool {
					return known.Name == e.Name && maps.Equal(known.Attributes, e.Attributes)
				}) {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(s.Events, func(e harness.Event) bool { return !told(e) })
}

// repeats counts the repeated copies of spans, and the spans from more than one sender.
func (k *kept) repeats() (again, shared int) {
	for _, came := range k.senders {
		who := map[string]bool{}
		for _, s := range came {
			who[s.Sender] = true
		}
		again += len(came) - 1
		if len(who) > 1 {
			shared++
		}
	}
	return again, shared
}

// sent counts the spans by sender.
func (k *kept) sent() map[string]int {
	out := map[string]int{}
	for _, came := range k.senders {
		for _, s := range came {
			out[s.Sender]++
		}
	}
	return out
}

// line returns the properties of a span that do not depend on its observer.
func line(s *harness.Span) string {
	return fmt.Sprintf(
		"%s parent=%s name=%q object=%s/%s/%s outcome=%q service=%q",
		s.ID,
		s.Parent,
		s.Name,
		s.Kind(),
		s.Attributes["k8s.namespace.name"],
		s.Object(),
		s.Outcome(),
		s.Service,
	)
}

// amendments limits the tolerated differences in spans named amend. Such a span adds an Event or a
// status that came after its trace was finished. On a busy machine, two servers finish a trace at
// different moments. A late Event of one is then a part of the trace at the other, or no news
// there.
const amendments = 2

// compare compares the spans of several servers with those of one undisturbed server. No span may
// be missing, invented or different, except for a few amendments.
func compare(t *testing.T, reference, got *kept) {
	t.Helper()
	missing, invented, different, late, amended := 0, 0, 0, 0, 0
	names := map[string]int{}
	say := func(n *int, format string, args ...any) {
		if *n++; *n <= 12 {
			t.Errorf(format, args...)
		}
	}
	few := func(s *harness.Span, what string) bool {
		if s.Name != "late fact" || amended == amendments {
			return false
		}
		amended++
		t.Logf("%s (tolerated): %s %s came=%s %v", what, s.Trace, line(s), clock(s.Came), s.Events)
		return true
	}
	for _, id := range slices.Sorted(maps.Keys(reference.spans)) {
		want := reference.spans[id]
		have, ok := got.spans[id]
		switch {
		case !ok && got.tells(want):
			late++
		case !ok && few(want, "missing"):
		case !ok:
			names["missing "+want.Name]++
			say(
				&missing,
				"missing: %s %s start=%s came=%s %v; its parent came from %v",
				want.Trace,
				line(want),
				clock(want.Start),
				clock(want.Came),
				want.Events,
				got.came(want.Trace+"/"+want.Parent),
			)
		case line(want) != line(have):
			say(
				&different,
				"different: trace %s\n  want %s\n  have %s from %s",
				want.Trace,
				line(want),
				line(have),
				have.Sender,
			)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got.spans)) {
		have := got.spans[id]
		switch {
		case reference.spans[id] != nil:
		case reference.tells(have):
			late++
		case few(have, "invented"):
		default:
			names["invented "+have.Name]++
			say(
				&invented,
				"invented: %s %s start=%s came=%s from %s %v",
				have.Trace,
				line(have),
				clock(have.Start),
				clock(have.Came),
				have.Sender,
				have.Events,
			)
		}
	}
	again, shared := got.repeats()
	t.Logf(
		"reference: %d spans; the others together %d; missing %d, invented %d, different %d, "+
			"late for one side %d; repeats %d, from more than one sender %d; sent %v",
		len(reference.spans),
		len(got.spans),
		missing,
		invented,
		different,
		late,
		again,
		shared,
		got.sent(),
	)
	if len(names) > 0 {
		t.Logf("%v", names)
	}
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// of accepts spans of objects whose namespace or name has this prefix.
func of(prefix string) func(*harness.Span) bool {
	return func(s *harness.Span) bool {
		return strings.HasPrefix(s.Attributes["k8s.namespace.name"], prefix) || strings.HasPrefix(s.Object(), prefix)
	}
}
