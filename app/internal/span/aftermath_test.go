// SPDX-License-Identifier: Apache-2.0

package span

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

var converged = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

// aftermathSpan returns the span with an aftermath, as the engine makes it.
func aftermathSpan(id byte, series, number int, a *Aftermath) *Span {
	at := Time{Time: a.Latest, Source: TimeWatch}
	return &Span{
		ID: trace.SpanID{id}, Parent: trace.SpanID{1}, Name: NameAftermath, Start: at, End: at,
		Attributes: a.Attributes(series, number),
	}
}

// TestAftermathSentence: the facts in words, beside those of the time before.
func TestAftermathSentence(t *testing.T) {
	const day = 24 * time.Hour
	killed := Exit{"app", 137, "OOMKilled", 14}
	for name, tc := range map[string]struct {
		of   Aftermath
		want string
	}{
		"Restarts": {
			Aftermath{
				Latest:       converged.Add(9 * time.Minute),
				Incidents:    Incidents{Restarts: 14, OOMKills: 14, ReadinessLosses: 14, Exits: []Exit{killed}},
				BeforeWindow: day,
			},
			"14 restarts in 9 min (0 in the day before): container app exited with 137 (OOMKilled)",
		},
		"One restart of a new workload": {
			Aftermath{
				Latest:    converged.Add(40 * time.Second),
				Incidents: Incidents{Restarts: 1, ReadinessLosses: 1, Exits: []Exit{{"app", 3, "Error", 1}}},
			},
			"1 restart in 40 s: container app exited with 3",
		},
		"Several facts and ways": {
			Aftermath{
				Latest: converged.Add(29 * time.Minute),
				Incidents: Incidents{
					Restarts: 14, Evictions: 1, FailedProbes: 20, ReadinessLosses: 15,
					Exits: []Exit{{"app", 1, "Error", 12}, {"proxy", 0, "Completed", 1}, {"app", 143, "Error", 1}},
				},
				Before: Incidents{Restarts: 2}, BeforeWindow: 3 * time.Hour,
			},
			"14 restarts, 1 eviction, 20 failed probes in 29 min (2 restarts in the 3 h before): " +
				"container app exited 12 times with 1, container proxy exited with 0 (Completed), 1 other exit",
		},
		"Readiness alone": {
			Aftermath{
				Latest:    converged.Add(5 * time.Minute),
				Incidents: Incidents{FailedProbes: 6, ReadinessLosses: 2}, BeforeWindow: day,
			},
			"6 failed probes, 2 losses of readiness in 5 min (none in the day before)",
		},
		"An exit alone": {
			Aftermath{
				Latest:    converged.Add(5 * time.Minute),
				Incidents: Incidents{Exits: []Exit{{"app", 0, "Completed", 1}}},
			},
			"1 exit of a container in 5 min: container app exited with 0 (Completed)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.of.Converged = converged
			if diff := cmp.Diff("converged; since then "+tc.want, tc.of.After("converged")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAftermathMerge: the highest number of each series counts, in any order of the spans, and attributes have all
// facts.
func TestAftermathMerge(t *testing.T) {
	first := &Aftermath{
		Converged: converged, Window: 30 * time.Minute, Latest: converged.Add(time.Minute),
		Incidents: Incidents{Restarts: 1, Exits: []Exit{{"app", 137, "OOMKilled", 1}}},
		Before:    Incidents{FailedProbes: 3, Exits: []Exit{{"app", 1, "a/b", 1}}}, BeforeWindow: 24 * time.Hour,
	}
	second := *first
	second.Latest, second.Over = converged.Add(2*time.Minute), true
	second.Incidents = Incidents{
		Restarts: 3, OOMKills: 2, ReadinessLosses: 4, Evictions: 1, FailedProbes: 7,
		Exits: []Exit{{"app", 137, "OOMKilled", 2}, {"app", 1, "Error", 1}},
	}
	other := &Aftermath{
		Converged: converged, Window: 30 * time.Minute, Latest: converged.Add(9 * time.Minute),
		Incidents: Incidents{Restarts: 1, Exits: []Exit{{"app", 1, "Error", 1}}},
	}
	root := &Span{ID: trace.SpanID{1}, Name: "reconcile Deployment", Outcome: Converged}
	one, two, three := aftermathSpan(2, 0, 1, first), aftermathSpan(3, 0, 2, &second), aftermathSpan(4, 1, 1, other)
	if diff := cmp.Diff(first, one.Aftermath()); diff != "" {
		t.Errorf("an aftermath by its attributes (-want +got):\n%s", diff)
	}
	want := &Aftermath{
		Converged: converged, Window: 30 * time.Minute, Latest: converged.Add(9 * time.Minute),
		Incidents: Incidents{
			Restarts: 4, OOMKills: 2, ReadinessLosses: 4, Evictions: 1, FailedProbes: 7,
			Exits: []Exit{{"app", 1, "Error", 2}, {"app", 137, "OOMKilled", 2}},
		},
		Before: first.Before, BeforeWindow: 24 * time.Hour,
	}
	for _, spans := range [][]*Span{{root, one, two, three}, {three, two, one, root}, {two, root, three, one}} {
		of := &Trace{Spans: spans, Outcome: Converged}
		if diff := cmp.Diff(want, AftermathOf(of)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		revised := Revise(of)
		if len(revised.Spans) != 3 || len(of.Spans) != 4 || revised.Outcome != Converged || revised.Was != "" {
			t.Errorf("a revised trace has %d spans, and outcome %s", len(revised.Spans), revised.Outcome)
		}
		if again := Revise(revised); again != revised {
			t.Error("another revision changes something")
		}
	}
	if AftermathOf(&Trace{Spans: []*Span{root}}) != nil {
		t.Error("a quiet trace has an aftermath")
	}
}
