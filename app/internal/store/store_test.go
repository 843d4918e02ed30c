// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func work(label string, d time.Duration) insight.Work { return insight.Work{Label: label, Duration: d} }

func TestSummarize(t *testing.T) {
	asOf := spantest.Epoch.Add(time.Minute)
	web := spantest.Ref("apps", "Deployment", "web")
	cases := map[string]struct {
		reason string
		trace  *span.Trace
		want   store.Summary
	}{
		"run": {
			reason: "the command is what was done; it wrote no object itself",
			trace:  spantest.Apply(),
			want: store.Summary{
				Start:           spantest.Epoch,
				Duration:        4210 * time.Millisecond,
				Outcome:         span.Converged,
				Name:            "run",
				Command:         "kubectl apply -f web.yaml",
				Actor:           "kubectl",
				Slowest:         "pull image nginx:1.27",
				SlowestDuration: 2930 * time.Millisecond,
				Work: []insight.Work{
					work(
						"reconcile Deployment",
						73*time.Millisecond,
					),
					work("reconcile ReplicaSet", 40*time.Millisecond),
					work("sandbox", 210*time.Millisecond),
					work("pull image nginx:1.27", 2930*time.Millisecond),
					work("start container", 47*time.Millisecond),
					work("readiness", 873*time.Millisecond),
				},
				Spans: 10,
			},
		},
		"change": {
			reason: "verb and actor are those of the first write to the root's object",
			trace: func() *span.Trace {
				b := spantest.New("change")
				b.Deployment(nil, 0, 100)
				return b.Trace
			}(),
			want: store.Summary{
				Start:           spantest.Epoch,
				Duration:        100 * time.Millisecond,
				Outcome:         span.Converged,
				Name:            "reconcile Deployment",
				Object:          web,
				Verb:            "create",
				Actor:           "kubectl",
				Slowest:         "reconcile Deployment",
				SlowestDuration: 88 * time.Millisecond,
				Work: []insight.Work{
					work("create Deployment", 12*time.Millisecond), work("reconcile Deployment", 88*time.Millisecond),
				},
				Spans: 2,
			},
		},
		"status of an outage": {
			reason: "after an outage of the watch, the time of a status has whole seconds",
			trace: func() *span.Trace {
				b := spantest.New("outage")
				s := b.Deployment(nil, 700, 800)
				s.Facts = &span.Facts{Writes: []span.Write{
					{Verb: "update", ResourceVersion: 9, Actor: "controller", Start: spantest.Epoch},
					{Verb: "create", ResourceVersion: 7, Actor: "kubectl", Start: spantest.At(700).Time},
				}}
				b.Trace.Spans = b.Trace.Spans[:1]
				return b.Trace
			}(),
			want: store.Summary{
				Start: spantest.At(700).Time, Duration: 100 * time.Millisecond, Outcome: span.Converged,
				Name: "reconcile Deployment", Object: web, Verb: "create", Actor: "kubectl",
				Slowest: "reconcile Deployment", SlowestDuration: 100 * time.Millisecond, Spans: 1,
				Work: []insight.Work{work("reconcile Deployment", 100*time.Millisecond)},
			},
		},
		"open": {
			reason: "it is as long as it was then",
			trace: func() *span.Trace {
				b := spantest.New("open")
				b.ReplicaSet(nil, 1000, -1)
				b.Trace.Outcome, b.Trace.Reason = span.Unfinished, "waiting"
				return b.Trace
			}(),
			want: store.Summary{
				Start: spantest.At(1000).Time, Duration: 59 * time.Second, Outcome: span.Unfinished, Reason: "waiting",
				Name: "reconcile ReplicaSet", Object: spantest.Ref("apps", "ReplicaSet", "web-6cf"),
				Slowest: "reconcile ReplicaSet", SlowestDuration: 59 * time.Second,
				Current: "reconcile ReplicaSet", CurrentDuration: 59 * time.Second, Spans: 1,
				Work: []insight.Work{work("reconcile ReplicaSet", 59*time.Second)},
			},
		},
		"stuck": {
			reason: "a Pod waits after an error, and the objects above wait for it",
			trace: func() *span.Trace {
				b := spantest.New("stuck")
				b.ReplicaSet(nil, 1000, -1).Status = span.StatusError
				b.Trace.Outcome = span.Unfinished
				return b.Trace
			}(),
			want: store.Summary{
				Stuck: true, Start: spantest.At(1000).Time, Duration: 59 * time.Second, Outcome: span.Unfinished,
				Name: "reconcile ReplicaSet", Object: spantest.Ref("apps", "ReplicaSet", "web-6cf"),
				Slowest: "reconcile ReplicaSet", SlowestDuration: 59 * time.Second,
				Current: "reconcile ReplicaSet", CurrentDuration: 59 * time.Second, Spans: 1,
				Work: []insight.Work{work("reconcile ReplicaSet", 59*time.Second)},
			},
		},
		"fight": {
			reason: "the change overwrites an opponent's value",
			trace:  spantest.Fight(),
			want: store.Summary{
				Start: spantest.Epoch, Duration: 100 * time.Millisecond, Outcome: span.Converged,
				Name: "reconcile Deployment", Object: web, Verb: "create", Actor: "kubectl",
				Fight:   "spec.replicas with horizontal-pod-autoscaler, 5 times in 40s",
				Slowest: "reconcile Deployment", SlowestDuration: 88 * time.Millisecond, Spans: 2,
				Work: []insight.Work{
					work("create Deployment", 12*time.Millisecond), work("reconcile Deployment", 88*time.Millisecond),
				},
			},
		},
		"no root": {
			reason: "all spans count, as in a part that another observer has seen",
			trace: func() *span.Trace {
				b := spantest.New("part")
				for _, s := range []*span.Span{b.ReplicaSet(nil, 20, 80), b.ReplicaSet(nil, 10, 50)} {
					s.Parent = trace.SpanID{1}
				}
				return b.Trace
			}(),
			want: store.Summary{
				Start:    spantest.At(10).Time,
				Duration: 70 * time.Millisecond,
				Outcome:  span.Converged,
				Spans:    2,
			},
		},
		"nothing": {reason: "no trace breaks it", trace: &span.Trace{}, want: store.Summary{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			tc.want.ID = tc.trace.ID
			if diff := cmp.Diff(tc.want, store.Summarize(tc.trace, asOf)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWritesOf(t *testing.T) {
	web, set := spantest.Ref("apps", "Deployment", "web"), spantest.Ref("apps", "ReplicaSet", "web-1")
	first := span.Write{Verb: "update", BasedOn: 6, ResourceVersion: 7, Changes: []span.FieldChange{
		{Path: "spec.replicas", Operation: span.FieldReplaced, From: "1", To: "2"},
	}}
	facts := &span.Facts{Writes: []span.Write{first, {Verb: "create", Of: &set}}}
	own := &span.Span{TraceID: trace.TraceID{1}, ID: trace.SpanID{2}, Object: web, Facts: facts}
	named := set
	named.Group, named.Version = "", ""
	cases := map[string]struct {
		reason string
		span   *span.Span
		want   []store.Write
	}{
		"own": {
			"a write to another object has no group and no version", own, []store.Write{
				{TraceID: own.TraceID, SpanID: own.ID, Object: web, Write: first},
				{TraceID: own.TraceID, SpanID: own.ID, Number: 1, Object: named, Write: span.Write{Verb: "create"}},
			},
		},
		"another component": {
			"it has a span of Lifeline already", &span.Span{Object: web, Facts: facts, Origin: &span.Origin{}}, nil,
		},
		"no facts": {"attributes and events are for people", &span.Span{
			Name: "update Deployment", Object: web, Attributes: []attribute.KeyValue{span.KeyVerb.String("update")},
			Events: []span.Event{{Time: spantest.Epoch, Name: span.EventWrite}},
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			if diff := cmp.Diff(tc.want, store.WritesOf(tc.span)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(int64(math.MinInt64), []byte{}, "")
	f.Add(int64(-1), []byte("key"), "AAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, at int64, key []byte, text string) {
		gotAt, gotKey, err := store.NewCursor(at, key).Position(len(key))
		if err != nil || gotAt != at || !bytes.Equal(gotKey, key) {
			t.Errorf("%d %q came back as %d %q, %v", at, key, gotAt, gotKey, err)
		}
		if _, _, err := store.Cursor(text).Position(len(key)); err != nil && !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestSummaryAt: an open trace's current work continues after its last change.
func TestSummaryAt(t *testing.T) {
	pulled := func(d time.Duration) []insight.Work {
		return []insight.Work{work("schedule", 8*time.Second), work("pull image", d)}
	}
	open := store.Summary{
		Open: true, Start: spantest.Epoch, Duration: 10 * time.Second, Slowest: "schedule",
		SlowestDuration: 8 * time.Second, Current: "pull image", CurrentDuration: 2 * time.Second,
		Work: pulled(2 * time.Second),
	}
	cases := map[string]struct {
		reason string
		change func(*store.Summary)
		after  time.Duration
		want   func(*store.Summary)
	}{
		"no time has passed": {
			reason: "it is the same", after: 10 * time.Second, want: func(*store.Summary) {},
		},
		"a little": {
			reason: "the other work still has more", after: 12 * time.Second,
			want: func(s *store.Summary) {
				s.Duration, s.CurrentDuration, s.Work = 12*time.Second, 4*time.Second, pulled(4*time.Second)
			},
		},
		"long": {
			reason: "the current work has most", after: 60 * time.Second,
			want: func(s *store.Summary) {
				s.Duration, s.CurrentDuration = 60*time.Second, 52*time.Second
				s.Slowest, s.SlowestDuration, s.Work = "pull image", 52*time.Second, pulled(52*time.Second)
			},
		},
		"ended": {
			reason: "nothing goes on", after: 60 * time.Second,
			change: func(s *store.Summary) { s.Open = false }, want: func(s *store.Summary) { s.Open = false },
		},
		"unknown work": {
			reason: "an older version had none", after: 60 * time.Second,
			change: func(s *store.Summary) { s.Current, s.CurrentDuration = "", 0 },
			want: func(s *store.Summary) {
				s.Duration, s.Current, s.CurrentDuration = 60*time.Second, "", 0
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			given, want := open, open
			if tc.change != nil {
				tc.change(&given)
			}
			tc.want(&want)
			if diff := cmp.Diff(want, given.At(spantest.Epoch.Add(tc.after))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestParseBy: texts, lists and periods make groups, and the error has the way out.
func TestParseBy(t *testing.T) {
	for text, want := range map[string]string{
		"volumes":         "1:1: the expression has the type int, and must be a string; write a field with a text",
		"kind == \"Pod\"": "the type bool, and must be a string; write a field with a text",
		"colour":          "1:1: unknown field colour",
		"nod":             "1:1: unknown field nod; did you mean node?",
		"days":            "1:1: unknown field days; did you mean day?",
		"weekly":          "1:1: unknown field weekly; did you mean week?",
		"imags":           "1:1: unknown field imags; did you mean image?",
		"labels":          "1:1: ",
		"":                "1:1: the expression is empty; write a field with a text",
		"name; DROP":      "1:5: ",
	} {
		if by, err := store.ParseBy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v %v, want %s", text, by, err, want)
		}
	}
	for _, text := range []string{"node", `labels["app"]`, "labels.app", `has(labels.app) ? labels.app : name`} {
		if by, err := store.ParseBy(text); err != nil || by.Period != "" || by.Text.String() != text {
			t.Errorf("%s: %+v %v", text, by, err)
		}
	}
	for text, uses := range map[string]string{
		"image": "images", " images ": "images", "field": "changed", "changed": "changed", "author": "author", "week": "start",
	} {
		if by, err := store.ParseBy(text); err != nil || !by.Uses(uses) || by.Uses("node") {
			t.Errorf("%q: %+v %v", text, by, err)
		}
	}
	for _, period := range store.Periods() {
		if by, err := store.ParseBy(string(period)); err != nil || by.Period != period || by.Text != nil {
			t.Errorf("%s: %+v %v", period, by, err)
		}
	}
}

// TestPeriods: an hour that a clock shows twice has two names, and a week belongs to the year of its Thursday.
func TestPeriods(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		of         store.Period
		at, reason string
		want       string
	}{
		{store.Hour, "2026-10-25T00:59:59Z", "summer time", "2026-10-25T02:00+02:00"},
		{store.Hour, "2026-10-25T01:00:00Z", "the same on the clock, an hour later", "2026-10-25T02:00+01:00"},
		{store.Day, "2026-10-24T22:00:00Z", "midnight", "2026-10-25"},
		{store.Week, "2027-01-03T22:59:59Z", "a Sunday", "2026-W53"},
		{store.Week, "2027-01-03T23:00:00Z", "the Monday after it", "2027-W01"},
	} {
		at, err := time.Parse(time.RFC3339, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.of.Name(at.In(zone)); got != tc.want {
			t.Errorf("%s of %s (%s): %s, want %s", tc.of, tc.at, tc.reason, got, tc.want)
		}
	}
}
