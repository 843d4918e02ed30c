// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// defaultPeriod is the time of a report without "since".
	defaultPeriod = 30 * 24 * time.Hour
	// maxRollups bounds the samples of one report. Of more, the later half of the time is read.
	maxRollups = 100_000
	// maxEarlier bounds the changes before one shift, and maxDetailed the shifts with such changes.
	maxEarlier, maxDetailed = 10, 20
	// justBefore is the time of the changes before a shift.
	justBefore = 24 * time.Hour
)

// learned answers from many lifecycles. limit bounds its computations.
type learned struct {
	report func() *shift.Report
	limit  *store.Limiter
}

func (l *learned) regressions(r *request) (any, error) {
	p := r.params
	q := store.RollupQuery{
		Since: p.moment("since"), Until: p.moment("until"), Namespace: p.text("namespace"), Where: whereOf(p),
	}
	workload, faster, ended := p.text("workload"), p.yes("faster"), p.yes("past")
	if err := p.done(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, problem(http.StatusBadRequest, "%s", err)
	}
	usual := q.Until.IsZero() && q.Namespace == "" && q.Where == nil && workload == ""
	q.Now = p.now
	if q.Until.IsZero() {
		q.Until = p.now
	}
	if q.Since.IsZero() {
		q.Since = q.Until.Add(-defaultPeriod)
	}
	if last := l.report(); usual && r.access.All() && last != nil && l.covers(last, q) {
		return last.Select(faster, ended), nil
	}
	var out *shift.Report
	err := l.limit.Do(r.ctx(), func(ctx context.Context) (err error) {
		out, err = computed(ctx, r.access, q, workload, p.now)
		return err
	})
	if err != nil {
		return nil, refused(err)
	}
	out = out.Select(faster, ended)
	if workload != "" {
		for i := range out.Shifts[:min(len(out.Shifts), maxDetailed)] {
			if err := earlier(r.ctx(), r.access, &out.Shifts[i]); err != nil {
				return nil, refused(err)
			}
		}
	}
	return out, nil
}

// covers reports whether the last report is about the time of a query.
func (*learned) covers(last *shift.Report, q store.RollupQuery) bool {
	const slack = time.Hour
	return last.Until.Sub(last.Since) == q.Until.Sub(q.Since) && q.Until.Sub(last.Until) < slack
}

// Learned is what a report is computed from: a store.Access, or a store.Reader without a scope.
type Learned interface {
	Rollups(ctx context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error]
	List(ctx context.Context, q store.Query) (*store.Page, error)
}

// Regressions returns the report about a range of time. It is for the server itself: it takes no place among the
// questions of callers.
func Regressions(ctx context.Context, from Learned, since, until time.Time) (*shift.Report, error) {
	return computed(ctx, from, store.RollupQuery{Since: since, Until: until, Now: until, Own: true}, "", until)
}

// computed returns the report about the samples of a query, as the caller may see them. Since bounds the shifts, and as
// much time before it the samples.
func computed(
	ctx context.Context, from Learned, q store.RollupQuery, workload string, now time.Time,
) (*shift.Report, error) {
	incomplete := ""
	for since := q.Since; ; since = q.Until.Add(-q.Until.Sub(since) / 2) {
		q.Since = since.Add(-q.Until.Sub(since))
		read := reading{owners: map[owner]int{}}
		found := regression.Find(read.samples(ctx, from, q, workload), regression.Options{Now: now, Since: since})
		switch {
		case read.err != nil:
			return nil, read.err
		case read.count > maxRollups:
			incomplete = fmt.Sprintf("there are more than %d samples: only the later half was read", maxRollups)
			continue
		}
		out := shift.Of(&found, now, since, q.Until)
		out.Short, out.Incomplete = read.short(), cmp.Or(out.Incomplete, incomplete)
		return out, name(ctx, from, out)
	}
}

// reading reads samples.
type reading struct {
	count int
	err   error
	// owners counts the samples of each workload.
	owners map[owner]int
}

// owner is what the series of one workload have in common.
type owner struct{ cluster, namespace, workload, kind, verb string }

// samples yields the rollups of a query. It stops at an error, and beyond maxRollups.
func (r *reading) samples(
	ctx context.Context, from Learned, q store.RollupQuery, workload string,
) iter.Seq[sample.Rollup] {
	return func(yield func(sample.Rollup) bool) {
		for one, err := range from.Rollups(ctx, q) {
			if err != nil {
				r.err = err
				return
			}
			if workload != "" && one.Workload != workload {
				continue
			}
			if r.count++; r.count > maxRollups {
				return
			}
			of := owner{one.Cluster, one.Namespace, one.Workload, one.Kind, one.Verb}
			if strings.HasPrefix(of.workload, "Job/") || strings.HasPrefix(of.workload, "Pod/") {
				of.workload = "" // they mostly run once
			}
			r.owners[of]++
			if !yield(one) {
				return
			}
		}
		r.err = context.Cause(ctx)
	}
}

// short counts the workloads with too few samples for a split.
func (r *reading) short() int {
	n := 0
	for _, count := range r.owners {
		if count < 2*statistic.Enough {
			n++
		}
	}
	return n
}

// name completes the changes of a report from their traces. A forgotten trace has its ID only.
func name(ctx context.Context, from Learned, r *shift.Report) error {
	var ids []trace.TraceID
	for i := range r.Shifts {
		if id := traceOf(r.Shifts[i].Change); id.IsValid() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for some := range slices.Chunk(ids, store.DefaultPage) {
		page, err := from.List(ctx, store.Query{IDs: some, Limit: len(some)})
		if err != nil {
			return err
		}
		for i := range page.Traces {
			c := changeOf(&page.Traces[i])
			for j := range r.Shifts {
				if s := &r.Shifts[j]; s.Change != nil && s.Change.TraceID == c.TraceID {
					s.Change = &c
				}
			}
		}
	}
	return nil
}

// changeOf returns the change of a summary.
func changeOf(sum *store.Summary) problems.Cause {
	out := problems.Cause{
		TraceID: sum.ID.String(), Start: sum.Start.UTC(), Verb: sum.Verb, Edits: sum.Edits, Command: sum.Command,
		Who: cmp.Or(sum.User, sum.Actor),
	}
	if sum.Object != (object.Ref{}) {
		ref := sum.Object
		out.Object = &ref
	}
	return out
}

// earlier adds the changes just before a shift: of its namespace, and of the objects of its factors.
func earlier(ctx context.Context, access store.Access, s *shift.Shift) error {
	until := s.Since.Add(time.Nanosecond)
	seen := map[string]bool{}
	add := func(of object.Ref, relation string) error {
		page, err := access.List(ctx, store.Query{
			Since: until.Add(-justBefore), Until: until, Object: of, Limit: maxEarlier,
		})
		if err != nil {
			return err
		}
		for i := range page.Traces {
			one := shift.Earlier{Cause: changeOf(&page.Traces[i]), Relation: relation}
			if seen[one.TraceID] {
				continue
			}
			seen[one.TraceID] = true
			s.Earlier = append(s.Earlier, one)
		}
		return nil
	}
	if workload, name, is := strings.Cut(s.Workload, "/"); is {
		of := object.Ref{Kind: object.Kind{Kind: workload}, Namespace: s.Namespace, Name: name}
		if err := add(of, "workload"); err != nil {
			return err
		}
	}
	for _, f := range s.Factors {
		for _, v := range f.Values {
			of, is := objectOfValue(v)
			if !is {
				continue
			}
			if err := add(of, v.String()); err != nil {
				return err
			}
		}
	}
	if s.Namespace != "" {
		if err := add(object.Ref{Namespace: s.Namespace}, "namespace"); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.Earlier, func(a, b shift.Earlier) int { return b.Start.Compare(a.Start) })
	s.Earlier = s.Earlier[:min(len(s.Earlier), maxEarlier)]
	return nil
}

// objectOfValue returns the object that a value of an attribute names.
func objectOfValue(v shift.Value) (object.Ref, bool) {
	of := object.Ref{Name: v.Value}
	switch v.Attribute {
	case sample.Node:
		of.Kind = kind.Node.Kind
	case sample.StorageClass:
		of.Kind = kind.StorageClass.Kind
	default:
		return of, false
	}
	return of, true
}
