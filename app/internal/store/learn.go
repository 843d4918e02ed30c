// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// MaxSamples bounds the samples of one query.
const MaxSamples = 200_000

// Learner returns what finished lifecycles taught. An error is the last element of a sequence.
type Learner interface {
	// Rollups returns the rollups that match q, the oldest start first; those with the same start in any order. They
	// outlive their traces. Those that are written meanwhile may be missing.
	Rollups(ctx context.Context, q RollupQuery) iter.Seq2[sample.Rollup, error]
	// Samples returns the lifecycles that match q and are samples, in any order: the newest Limit of the matching
	// lifecycles, at most MaxSamples. Traces, Open and After do not count.
	Samples(ctx context.Context, q FindQuery) iter.Seq2[sample.Lifecycle, error]
}

// RollupQuery selects rollups. A zero field selects all.
type RollupQuery struct {
	Scope Scope
	// Since and Until bound the start: not before Since, before Until.
	Since, Until time.Time
	// Namespace is that of the objects.
	Namespace string
	// Where selects the rollups that match it, or have a part that does: see Validate. Now is its present time.
	Where *question.Question
	Now   time.Time
	// Own marks a question of the server itself: the limits of costly questions do not apply to it.
	Own bool
}

// rolled are the fields of questions that a rollup has, beside the phases.
var rolled = []string{
	"kind", "group", "namespace", "workload", "verb", "heals", "start", "duration", "images", "node", "zone",
	"instance_type", "node_pool", "runtime", "kubelet", "scheduler", "storage_classes", "volumes", "replicas", "author",
	"changed",
}

// UnrolledError is the error of a question with a field that rollups lack.
type UnrolledError struct{ Field string }

// Error says which field.
func (e *UnrolledError) Error() string {
	return "the field " + e.Field + " is not kept over the year: use " + strings.Join(rolled, ", ") + " or phase.*"
}

// Validate returns an UnrolledError for a Where with a field that rollups lack, or nil.
func (q *RollupQuery) Validate() error {
	if q.Where == nil {
		return nil
	}
	for _, f := range question.Fields() {
		if q.Where.Uses(f.Name) && !slices.Contains(rolled, f.Name) && !strings.HasPrefix(f.Name, "phase.") {
			return &UnrolledError{f.Name}
		}
	}
	return nil
}

// Fits reports whether what the scope permits of r matches q, apart from the scope.
func (q *RollupQuery) Fits(r *Rollup, permitted *sample.Rollup) bool {
	if q.Namespace != "" && permitted.Namespace != q.Namespace ||
		!q.Since.IsZero() && permitted.Start.Before(q.Since) ||
		!q.Until.IsZero() && !permitted.Start.Before(q.Until) {
		return false
	}
	if q.Where == nil {
		return true
	}
	l := asLifecycle(r, permitted)
	if len(permitted.Parts) == 0 {
		return q.Where.Matches(l, q.Now)
	}
	common := l.Values
	for _, p := range permitted.Parts {
		l.Values = nil
		for name, v := range common {
			l.Set(name, v)
		}
		setAttributes(l, permitted.Attributes, p.Attributes)
		l.Phases, l.Duration = p.Phases, p.Phases[sample.Total]
		if q.Where.Matches(l, q.Now) {
			return true
		}
	}
	return false
}

// asLifecycle returns a rollup as questions see it.
func asLifecycle(r *Rollup, permitted *sample.Rollup) *question.Lifecycle {
	l := &question.Lifecycle{
		Trace: permitted.Trace, Object: object.Ref{Kind: r.Object.Kind, Namespace: permitted.Namespace},
		Start: permitted.Start, Duration: permitted.Phases[sample.Total], Phases: permitted.Phases,
	}
	l.Set("workload", permitted.Workload)
	l.Set("verb", permitted.Verb)
	if permitted.Heals {
		l.Set("heals", r.Healed.Kind.Kind+" "+r.Healed.Name)
	}
	setAttributes(l, permitted.Attributes)
	return l
}

// setAttributes sets the fields of attributes.
func setAttributes(l *question.Lifecycle, lists ...[]sample.Attribute) {
	for _, all := range lists {
		for _, a := range all {
			field := attributesOf[a.Name]
			switch field {
			case "":
			case "images", "storage_classes", "changed":
				list, _ := l.Values[field].([]string)
				l.Set(field, append(slices.Clip(list), a.Value))
			case "volumes", "replicas":
				if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
					l.Set(field, n)
				}
			default:
				l.Set(field, a.Value)
			}
		}
	}
}

// Rollups is Reader.Rollups.
func (a Access) Rollups(ctx context.Context, q RollupQuery) iter.Seq2[sample.Rollup, error] {
	q.Scope, q.Own = a.scope, false
	return a.gate.from.Rollups(ctx, q)
}

// Samples is Reader.Samples.
func (a Access) Samples(ctx context.Context, q FindQuery) iter.Seq2[sample.Lifecycle, error] {
	q.Scope = a.scope
	return a.gate.from.Samples(ctx, q)
}
