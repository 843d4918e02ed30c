// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// rollups returns all rollups within a scope, and the error at their end.
func rollups(t *testing.T, from store.Learner, s store.Scope) (out []sample.Rollup, err error) {
	t.Helper()
	for r, err := range from.Rollups(t.Context(), store.RollupQuery{Scope: s}) {
		if err != nil {
			return out, err
		}
		if n := len(out); n > 0 && r.Start.Before(out[n-1].Start) {
			t.Errorf("a rollup of %s comes after one of %s", r.Start, out[n-1].Start)
		}
		r.Cluster = "c"
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b sample.Rollup) int { return store.CompareRollups(&a, &b) })
	return out, nil
}

// TestLearn: each trace counts once, wherever its parts are, in the order of time. An archive with all of it has the
// same rollups and samples.
func TestLearn(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		r := newRoom(t)
		for i, tr := range some(random, 9) {
			r.add(tr)
			r.move(i)
		}
		for step := range 60 {
			if i := random.IntN(len(r.traces)); random.IntN(3) == 0 {
				r.amend(i)
			} else {
				r.move(i)
			}
			if step%10 == 7 {
				r.reopen()
			}
			if step%3 == 0 {
				r.compareLearned(fmt.Sprintf("seed %d, step %d", seed, step))
			}
		}
	}
}

func (r *room) compareLearned(when string) {
	r.t.Helper()
	for name, s := range map[string]store.Scope{"everything": {}, "shop": {Namespaces: []string{"shop"}}} {
		want, err := rollups(r.t, r.oracle, s)
		must(r.t, err)
		got, err := rollups(r.t, r.view, s)
		must(r.t, err)
		if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			r.t.Fatalf("%s, %s: -want +got:\n%s", when, name, d)
		}
	}
	var sets [2][]sample.Lifecycle
	for i, from := range []store.Learner{r.oracle, r.view} {
		for one, err := range from.Samples(r.t.Context(), store.FindQuery{Now: asOf}) {
			must(r.t, err)
			sets[i] = append(sets[i], one)
		}
		slices.SortFunc(sets[i], func(a, b sample.Lifecycle) int {
			return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Phases[sample.Total], b.Phases[sample.Total]),
				cmp.Compare(len(a.Attributes), len(b.Attributes)))
		})
	}
	if d := gocmp.Diff(sets[0], sets[1], cmpopts.EquateEmpty()); d != "" {
		r.t.Fatalf("%s, samples: -want +got:\n%s", when, d)
	}
}

// TestLearnWithoutTheArchive: what is in memory comes first, and then the error.
func TestLearnWithoutTheArchive(t *testing.T) {
	r := newRoom(t)
	for i, tr := range some(rand.New(rand.NewPCG(1, 1)), 3) {
		r.add(tr)
		r.move(i)
	}
	want, err := rollups(t, r.oracle, store.Scope{})
	must(t, err)
	r.away = fmt.Errorf("%w: the disk is broken", store.ErrUnavailable)
	got, err := rollups(t, r.view, store.Scope{})
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, -want +got:\n%s", err, d)
	}
	n := 0
	for _, err = range r.view.Samples(t.Context(), store.FindQuery{Now: asOf}) {
		if err == nil {
			n++
		}
	}
	if n == 0 || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%d samples, %v", n, err)
	}
}
