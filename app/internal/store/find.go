// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Errors of a costly question.
var (
	// ErrTooLong: the question took longer than MaxQuestionTime.
	ErrTooLong = errors.New("the question takes too long")
	// ErrBusy: MaxQuestions others are being answered.
	ErrBusy = errors.New("too many questions at the same time")
)

// The limits of costly questions.
const (
	// MaxQuestionTime bounds the time of one question.
	MaxQuestionTime = 10 * time.Second
	// DefaultRange limits a question without a range of time: to starts within it before now.
	DefaultRange = 7 * 24 * time.Hour
	// MaxGroups bounds the groups of one answer.
	MaxGroups = 1000
)

// Finder answers questions about lifecycles.
type Finder interface {
	// Find returns the lifecycles that match q in the order of q.Compare, without their Steps.
	Find(ctx context.Context, q FindQuery) (*FindPage, error)
	// Group returns statistics of the lifecycles that match q. The groups have the finished ones only.
	Group(ctx context.Context, q GroupQuery) (*GroupPage, error)
}

// Lifecycle is one reconciliation of an object, with the data for questions. Outcome is empty while it
// is open.
type Lifecycle struct {
	// Lifecycle has the data. The kind of the object has no version.
	question.Lifecycle
	// Span is the span of the reconciliation.
	Span trace.SpanID
	// Rank is the value of FindQuery.Sort, in a page of Find.
	Rank Rank
}

// Rank is a value to sort by: of a duration in nanoseconds, or a count. The zero value is a missing one.
type Rank struct {
	Value int64
	Known bool
}

// FindQuery selects lifecycles. A zero field selects all.
type FindQuery struct {
	Scope Scope
	// Where is the condition; nil selects all.
	Where *question.Question
	// Now is the value of now in Where, and the end of open lifecycles.
	Now time.Time
	// Since and Until bound the start: not before Since, before Until. Without both, without Open and without
	// a Where that uses "start", Since is DefaultRange before Now.
	Since, Until time.Time
	// Open selects lifecycles of open traces only. An archive has none.
	Open bool
	// Namespace is that of the object; empty selects all.
	Namespace string
	// Traces selects one lifecycle a trace, the latest. It does not go with Sort.
	Traces bool

	// Sort orders all that match by a value, the highest first, or with Reverse the lowest. Those without a value come
	// last. nil means the start, the latest first, which also orders equal values.
	Sort    *question.Number
	Reverse bool

	Limit int
	// After is the end of the previous page. A sorted page has the Now of the first one: Begin sets it.
	After Cursor
}

// FindPage is a part of the matching lifecycles.
type FindPage struct {
	Lifecycles []Lifecycle
	Next       Cursor
	// Incomplete is as in Page.
	Incomplete string
	// Since is the earliest start that was asked for; zero without a bound.
	Since time.Time
}

// GroupQuery asks for statistics.
type GroupQuery struct {
	// FindQuery selects the lifecycles. Sort, Limit and After do not count.
	FindQuery
	// By are the keys of the groups, at most MaxKeys. Without any, all lifecycles are one group.
	By []By
	// Order is that of the groups.
	Order GroupOrder
	// Zone is the time zone of periods; nil means UTC.
	Zone *time.Location
	// Of is the duration that Quantiles are of, such as "phase.startup" or "end - ended.pull"; nil means
	// none. A lifecycle counts without a value if a part of it is missing.
	Of *question.Length
	// Quantiles are fractions from 0 to 1, as in 0.5.
	Quantiles []float64
	// Changes counts the traces with a lifecycle in the group, also open ones; these whenever they began, unless
	// Until is set. Open and Of do not count then.
	Changes bool
	// States selects the lifecycles of traces with any of these states; nil selects all. Only with Changes.
	States []span.State
	// Also are further lifecycles that count. Neither the scope nor the rest of the query selects among them. Not
	// with Changes.
	Also []Lifecycle
}

// Validate returns an error for a query with a bad fraction, or nil.
func (q *GroupQuery) Validate() error {
	for _, f := range q.Quantiles {
		if !(f >= 0 && f <= 1) {
			return fmt.Errorf("cannot compute the quantile %v: it is not between 0 and 1", f)
		}
	}
	ofState := slices.ContainsFunc(q.By, func(b By) bool { return b.State })
	switch {
	case len(q.By) > MaxKeys:
		return fmt.Errorf("groups have %d keys, more than %d", len(q.By), MaxKeys)
	case q.Changes && q.Of != nil:
		return errors.New("a count of changes has no quantiles")
	case !q.Changes && (ofState || len(q.States) > 0):
		return errors.New("only changes have a state")
	}
	return q.Order.validate(q)
}

// GroupPage are the groups in the order of GroupQuery.CompareGroups, at most MaxGroups.
type GroupPage struct {
	Groups []Group
	// More is the number of further groups.
	More int
	// Open counts the matching lifecycles that have not ended. An archive has none.
	Open int64
	// Incomplete and Since are as in FindPage.
	Incomplete string
	Since      time.Time
}

// Group is the statistics of the lifecycles with the same values of By. A lifecycle with several elements of a list is
// in several groups.
type Group struct {
	// Values has one for each key.
	Values []string
	// Count counts all, and With those that have a value of Of.
	Count, With int64
	// Quantiles are those of the query; nil if With is 0.
	Quantiles []time.Duration
}
