// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// summaries returns one summary of each kind, newest first.
func summaries() []store.Summary {
	var out []store.Summary
	add := func(ago time.Duration, change func(*store.Summary), traces ...*span.Trace) {
		for _, t := range traces {
			s := store.Summarize(t, spantest.Epoch.Add(13*time.Second))
			s.Start = s.Start.Add(-ago)
			if change != nil {
				change(&s)
			}
			out = append(out, s)
		}
	}
	add(0, func(s *store.Summary) { s.Open = true }, spantest.Unschedulable())
	add(5*time.Minute, func(s *store.Summary) {
		s.Edits = []string{"image nginx:1.26 → nginx:1.27", "replicas 2 → 4", "env MODE"}
	}, spantest.Apply())
	add(3*time.Hour, nil, spantest.Healing()...)
	add(3*time.Hour, func(s *store.Summary) {
		s.Open, s.User = true, "system:serviceaccount:flux-system:kustomize-controller"
	}, spantest.CrashLoop())
	change := spantest.New("change")
	change.Deployment(nil, 0, 100)
	change.Trace.Outcome = span.Superseded
	add(50*time.Hour, func(s *store.Summary) { s.User = "alice" }, change.Trace)
	add(time.Minute, nil, spantest.Fight())
	add(400*24*time.Hour, nil, spantest.Rollout(), spantest.Hostile())
	add(0, func(s *store.Summary) { *s = store.Summary{ID: s.ID} }, spantest.Apply())
	hostile := spantest.Ref("", "Pod", "\u202egnp.exe\x1b[2J\nnext"+strings.Repeat("x", 4000))
	hostile.Kind.Kind, hostile.Namespace = "日本語\x1b[31m", "\u2066ns"
	add(0, func(s *store.Summary) {
		s.Command, s.Object, s.Verb, s.Actor, s.User, s.Outcome = "", hostile, "\rdelete\x9b", "evil\x07",
			"mallory\u200b", "\x1b]0;title\x07"
		s.Slowest, s.Heals, s.Reason = "pull image \x1b[5m設備:最新版", "Pod \n\x1b", "because\nof \x1b[31m"
		s.Fight = "spec.\x1b[5m with\n"
		s.Edits = []string{"label \x1b[31ma → b\n", strings.Repeat("x", 4000)}
	}, spantest.Apply())
	return out
}

// present returns three changes, of which broken has the present states. Of the last one, the start is vague.
func present() []store.Summary {
	all := summaries()
	failed, converged, vague := all[1], all[1], all[1]
	failed.ID[0], vague.ID[0] = 1, 2
	failed.Outcome, failed.Reason = span.Failed, "Deployment web exceeded its progress deadline"
	vague.Earliest = vague.Start.Add(-time.Hour)
	return []store.Summary{failed, converged, vague}
}

// after returns two changes with an aftermath. The object of one is broken now.
func after() []store.Summary {
	quiet := store.Summarize(worsened(), now)
	loud := quiet
	loud.ID = present()[1].ID
	quiet.ID[0] = 7
	return []store.Summary{quiet, loud}
}

func broken() map[trace.TraceID]render.Present {
	const reason = "Deployment web cannot pull image web:2: not \u202efound"
	all := present()
	return map[trace.TraceID]render.Present{
		all[0].ID: {Still: true, Since: now.Add(-3 * time.Hour), Reason: reason},
		all[1].ID: {Since: now.Add(-2 * time.Minute), Reason: reason},
		all[2].ID: {Still: true, Before: true, Since: now.Add(-50 * time.Hour), Reason: reason},
	}
}

func TestListGolden(t *testing.T) {
	all := summaries()
	cases := map[string]struct {
		reason string
		traces []store.Summary
		o      render.ListOptions
	}{
		"list":     {"as wide as it takes", all[:9], render.ListOptions{}},
		"list-160": {"wide terminals cut little", all, render.ListOptions{Options: render.Options{Width: 160}}},
		"list-80":  {"names give way, all columns stay", all, render.ListOptions{Options: render.Options{Width: 80}}},
		"list-50":  {"whole columns give way", all, render.ListOptions{Options: render.Options{Width: 50}}},
		"list-color": {
			"colours as in trees", all[:9], render.ListOptions{Options: render.Options{Color: true, Width: 120}},
		},
		"list-wide": {
			"times, whole IDs, reasons, nothing cut", all[:9], render.ListOptions{
				Wide: true, Options: render.Options{Width: 80},
			},
		},
		"list-whole": {
			"whole IDs and names, still ages", all[:2], render.ListOptions{
				Whole: true, Options: render.Options{Width: 80},
			},
		},
		"list-near": {
			"the namespace that was asked for is not repeated", all[:9], render.ListOptions{
				Namespace: "default", Options: render.Options{Width: 80},
			},
		},
		"list-none": {"not even titles", nil, render.ListOptions{}},
		"list-present": {
			"what is broken now stands beside the outcome", present(), render.ListOptions{Present: broken()},
		},
		"list-present-80": {
			"what is broken now stands below the row", present(), render.ListOptions{
				Present: broken(), Options: render.Options{Width: 80},
			},
		},
		"list-present-wide": {
			"the reason is that of the change", present(), render.ListOptions{Present: broken(), Wide: true},
		},
		"list-aftermath": {"then worse, with the facts", after(), render.ListOptions{Present: broken()}},
		"list-aftermath-80": {
			"a mark, and the facts below", after(), render.ListOptions{Options: render.Options{Width: 80}},
		},
		"list-aftermath-160": {
			"the facts in the row or below", after(), render.ListOptions{
				Present: broken(), Options: render.Options{Width: 160},
			},
		},
		"list-aftermath-wide": {"the facts as the reason", after(), render.ListOptions{Wide: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.o.Now = now
			var got bytes.Buffer
			if err := render.List(&got, tc.traces, tc.o); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			golden(t, name, tc.reason, got.Bytes())
		})
	}
}

// Each trace is one line, no wider than requested and without control sequences, for any names. A stuck or failed one
// has a second line if its reason has no room in the first.
func TestListKeepsItsLines(t *testing.T) {
	all := summaries()
	for width := 20; width < 200; width++ {
		var got bytes.Buffer
		if err := render.List(&got, all, render.ListOptions{
			Options: render.Options{Width: width, Now: now},
		}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		want := len(all) + 1 + strings.Count(got.String(), "\n  ")
		if len(lines) != want || width < 120 && want != len(all)+5 {
			t.Fatalf("at width %d: %d lines, want %d:\n%s", width, len(lines), want, &got)
		}
		for _, l := range lines {
			if n := (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(l); n > width {
				t.Errorf("at width %d a line has %d cells: %s", width, n, l)
			}
			if strings.ContainsAny(l, "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
				t.Errorf("at width %d a line is not escaped: %q", width, l)
			}
		}
	}
	var wide bytes.Buffer
	if err := render.List(&wide, all, render.ListOptions{Wide: true, Options: render.Options{Now: now}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(wide.String(), "\n"); got != len(all)+1 ||
		strings.ContainsAny(wide.String(), "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
		t.Errorf("wide: %d lines, want %d, all escaped", got, len(all)+1)
	}
}

// TestListReason: a reason stands whole in the row, or whole below it.
func TestListReason(t *testing.T) {
	const long = "Pod web-6cf cannot be scheduled: 0/3 nodes are available: 3 node(s) had a taint it cannot bear"
	for _, reason := range []string{"quota is exceeded", long} {
		stuck := store.Summarize(spantest.Apply(), spantest.Epoch)
		stuck.Outcome, stuck.Reason = span.Failed, reason
		var got bytes.Buffer
		if err := render.List(&got, []store.Summary{stuck}, render.ListOptions{
			Options: render.Options{Width: 140, Now: now},
		}); err != nil {
			t.Fatal(err)
		}
		if below := strings.Contains(got.String(), "\n  "+reason+"\n"); below != (reason == long) ||
			!strings.Contains(got.String(), reason) {
			t.Errorf("want %q whole, got:\n%s", reason, &got)
		}
	}
}

// TestListPinned: a pinned trace has a mark, and the others take no more room.
func TestListPinned(t *testing.T) {
	plain := store.Summarize(spantest.Apply(), spantest.Epoch)
	pinned := plain
	pinned.Pinned = true
	var one, both bytes.Buffer
	if err := render.List(&one, []store.Summary{plain}, render.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := render.List(&both, []store.Summary{pinned, plain}, render.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(one.String(), "pinned") || strings.Count(both.String(), " (pinned) ") != 1 {
		t.Errorf("without a pin:\n%s\nwith one:\n%s", &one, &both)
	}
}

// TestListRunning: a running change says what it waits for, unless a step of its work says more; an ended one its
// slowest work.
func TestListRunning(t *testing.T) {
	const waits = "Pod web-6cf-x7 is ready, and must stay so for 10s"
	for _, tc := range []struct {
		outcome span.Outcome
		current string
		want    bool
	}{
		{span.Unfinished, "", true},
		{span.Unfinished, "reconcile Pod", true},
		{span.Unfinished, "pull image web:1", false},
		{span.Converged, "", false},
	} {
		s := store.Summarize(spantest.Apply(), spantest.Epoch.Add(13*time.Second))
		s.Reason, s.Current = waits, tc.current
		s.Open, s.Outcome = tc.outcome == span.Unfinished, tc.outcome
		var out bytes.Buffer
		o := render.ListOptions{Options: render.Options{Now: now}}
		if err := render.List(&out, []store.Summary{s}, o); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), waits); got != tc.want {
			t.Errorf("%+v: the row has what the change waits for: %t\n%s", tc, got, &out)
		}
	}
}
