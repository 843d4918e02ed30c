// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

var example = month{Seed: 1, End: time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)}

// values compares the values of attributes.
var values = cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() })

// TestStored: the archive has each trace as it was made, and the API and the page are there.
func TestStored(t *testing.T) {
	archive, err := sqlite.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "lifeline.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	traces := example.traces()
	if err := write(t.Context(), archive, traces); err != nil {
		t.Fatal(err)
	}
	stats, err := archive.Stats(t.Context(), store.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	spans := 0
	for _, want := range traces {
		spans += len(want.Spans)
		got, err := archive.Trace(t.Context(), store.Scope{}, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Trace, values); diff != "" {
			t.Fatalf("trace %s (-want +got):\n%s", want.ID, diff)
		}
	}
	if stats.Traces != int64(len(traces)) || stats.Spans != int64(spans) {
		t.Errorf("the archive has %d traces of %d spans, want %d of %d", stats.Traces, stats.Spans, len(traces), spans)
	}
	h, err := serving(archive, example.End, func() time.Time { return example.End })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, path := range []string{
		"/changes", "/api/v1/info", "/api/v1/problems", "/api/v1/traces?since=2026-03-01T12:00:00Z",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}

// TestRepeatable: the same seed has the same month, and another seed another one.
func TestRepeatable(t *testing.T) {
	first := example.traces()
	if !reflect.DeepEqual(first, example.traces()) {
		t.Error("the same seed has another month the second time")
	}
	if reflect.DeepEqual(first, month{Seed: 2, End: example.End}.traces()) {
		t.Error("two seeds have the same month")
	}
}

// TestWithin: whatever the seed and the time of day, all changes are within the month, all spans within their
// change, and nothing is broken at the end.
func TestWithin(t *testing.T) {
	for seed := range uint64(20) {
		m := month{Seed: seed, End: example.End.Add(time.Duration(seed) * 73 * time.Minute)}
		last := m.start()
		for _, one := range m.traces() {
			root := one.Root()
			if root.Start.Before(last) || root.End.After(m.End) {
				t.Fatalf("seed %d: %s from %s to %s, after one from %s",
					seed, root.Object.Name, root.Start, root.End, last)
			}
			last = root.Start.Time
			if one.Outcome != span.Converged && root.End.After(m.End.Add(-day/2)) {
				t.Errorf("seed %d: %s has %s shortly before the end", seed, root.Object.Name, one.Outcome)
			}
			for _, s := range one.Spans {
				if s.Start.Before(root.Start.Time) || s.End.After(root.End.Time) || s.End.Before(s.Start.Time) {
					t.Fatalf("seed %d: %s of %s from %s to %s", seed, s.Name, s.Object.Name, s.Start, s.End)
				}
			}
		}
	}
}

// TestRepaired: after each failed rollout, the next one of the Deployment goes back to the image before.
func TestRepaired(t *testing.T) {
	failed := map[string]span.FieldChange{}
	versions := map[string]bool{}
	repaired := 0
	for _, one := range example.traces() {
		root := one.Root()
		if root.Object.Kind.Kind != "Deployment" {
			continue
		}
		key := root.Object.Namespace + "/" + root.Object.Name
		change := root.Facts.Writes[0].Changes[0]
		if bad, ok := failed[key]; ok {
			if one.Outcome != span.Converged || change.From != bad.To || change.To != bad.From {
				t.Errorf("%s failed from %s to %s, and then %s from %s to %s",
					key, bad.From, bad.To, one.Outcome, change.From, change.To)
			}
			delete(failed, key)
			repaired++
		}
		if versions[change.To] && one.Outcome == span.Failed {
			t.Errorf("%s fails with the image %s of an earlier change", key, change.To)
		}
		versions[change.To] = true
		if one.Outcome == span.Failed {
			failed[key] = change
		}
	}
	if repaired < 5 || len(failed) > 0 {
		t.Errorf("%d failed rollouts are repaired, and %d are not", repaired, len(failed))
	}
}

// TestNights: each CronJob has a Job each night.
func TestNights(t *testing.T) {
	jobs := map[string]int{}
	for _, one := range example.traces() {
		if root := one.Root(); root.Object.Kind.Kind == "Job" {
			jobs[root.Facts.Workload]++
		}
	}
	want := map[string]int{"CronJob/settlement": days, "CronJob/backup": days, "CronJob/compact": days}
	if diff := cmp.Diff(want, jobs); diff != "" {
		t.Errorf("Jobs of the month (-want +got):\n%s", diff)
	}
}

// TestSlowWeek: the pulls from the first registry in the slow week take several times as long as those of the other
// weeks.
func TestSlowWeek(t *testing.T) {
	var took [2]time.Duration
	var count [2]int
	for _, one := range example.traces() {
		week := 0
		if example.slow(one.Root().Start.Time) {
			week = 1
		}
		for _, s := range one.Spans {
			image := insight.Attribute(s, span.KeyImage)
			if s.Name == span.NamePull && s.Status != span.StatusError && strings.HasPrefix(image, firstRegistry) {
				took[week] += s.Duration(example.End)
				count[week]++
			}
		}
	}
	usual, slow := took[0]/time.Duration(count[0]), took[1]/time.Duration(count[1])
	if slow < 5*usual {
		t.Errorf("a pull takes %s in the slow week, and %s otherwise", slow, usual)
	}
}
