// SPDX-License-Identifier: Apache-2.0

package questiontest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// Now is the time of every evaluation.
var Now = time.Date(2026, 11, 26, 12, 0, 0, 123_456_789, time.UTC)

// words are the texts of rows and questions. Few words give many equal values. Some differ in case
// or in one byte, are parts of others, or look like patterns, quotes or SQL.
var words = []string{
	"", "a", "A", "ab", "b", "web", "Web", "web-1", "web-10", "nginx", "nginx:1.29", "NGINX", "x%", "x_", "xyz", "*",
	"é", "É", "日本", "🙂", "a\x00b", "a\x00", "'", "\"", "' OR 1=1 --", "?1", "\\", "Pod", "Job", "pod", "10", "9",
	"null", "a.b", "a b", "\n",
}

// keys are the keys of labels.
var keys = []string{"app", "tier", "", "a/b", "web", "?2"}

// lengths are lengths of time, in nanoseconds.
var lengths = []int64{
	0, 1, -1, 999_999_999, 1e9, 5e9, 30e9, -30e9, 60e9, 3600e9, 86_400e9, 1 << 53, 1<<53 + 1,
	math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 / 2,
}

// moments are times.
var moments = []time.Time{
	Now, Now.Add(1), Now.Add(-time.Second), Now.Add(-30 * time.Second), Now.Add(-time.Hour), Now.Add(time.Hour),
	time.Unix(0, 0).UTC(), time.Unix(0, math.MaxInt64).UTC(), time.Unix(0, math.MinInt64).UTC(),
	time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC),
}

// Rows returns random lifecycles, whose values are within the range of an archive.
func Rows(r *rand.Rand, n int) []*question.Lifecycle {
	out := make([]*question.Lifecycle, n)
	for i := range out {
		l := &question.Lifecycle{
			Object: object.Ref{
				Kind:      object.Kind{Group: word(r), Kind: word(r)},
				Namespace: word(r), Name: word(r), UID: types.UID(word(r)),
			},
			Outcome: word(r),
			Start:   one(r, moments), Duration: time.Duration(one(r, lengths)),
			Phases: map[string]time.Duration{},
		}
		if r.IntN(2) == 0 {
			l.Outcome = one(r, few["outcome"])
		}
		for _, f := range question.Fields() {
			if f.From != nil {
				l.Set(f.Name, value(r, &f))
			}
		}
		binary.BigEndian.PutUint64(l.Trace[8:], uint64(i))
		for _, p := range question.Phases() {
			if r.IntN(2) == 0 {
				l.Phases[p.Name] = time.Duration(one(r, lengths))
			}
		}
		for range r.IntN(3 * len(stepped)) {
			l.Steps = append(l.Steps, step(r))
		}
		out[i] = l
	}
	return out
}

// value returns a random value of a field of data, or nil.
func value(r *rand.Rand, f *question.Field) any {
	switch f.Type {
	case question.String:
		if f.Values != nil && r.IntN(2) == 0 {
			return one(r, few[f.Name])
		}
		return word(r)
	case question.List:
		var out []string
		for range r.IntN(4) {
			if element := word(r); !slices.Contains(out, element) {
				out = append(out, element)
			}
		}
		if out != nil {
			return out
		}
		return nil
	case question.Map:
		out := map[string]string{}
		for range r.IntN(4) {
			out[one(r, keys)] = word(r)
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	if r.IntN(2) == 0 {
		return nil
	}
	switch f.Type {
	case question.Timestamp:
		return one(r, moments)
	case question.Duration:
		return time.Duration(one(r, lengths))
	}
	return int64(r.IntN(4))
}

// stepped are the phases with steps.
var stepped = slices.DeleteFunc(question.Phases(), func(p question.Phase) bool { return p.Span == "" })

// step returns a random step, which may be open. Most are near each other in time.
func step(r *rand.Rand) question.Step {
	at := func() time.Time {
		if r.IntN(4) == 0 {
			return one(r, moments)
		}
		return Now.Add(time.Duration(r.IntN(120)) * time.Second)
	}
	s := question.Step{Phase: one(r, stepped).Name, Start: at()}
	if r.IntN(8) > 0 {
		s.End = at()
	}
	return s
}

// word returns a random word; one of the first half more often.
func word(r *rand.Rand) string { return words[min(r.IntN(len(words)), r.IntN(len(words)))] }

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
