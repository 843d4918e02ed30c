// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
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
	// Find returns the lifecycles that match q, the latest start first, without their Steps. Among
	// equal starts, the highest trace ID and then the highest span ID come first.
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
	// Traces selects one lifecycle a trace, the latest.
	Traces bool

	Limit int
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
	// FindQuery selects the lifecycles. Limit and After do not count.
	FindQuery
	// By is what the lifecycles of a group share. The zero value makes one group of all.
	By By
	// Zone is the time zone of days; nil means UTC.
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
	switch {
	case q.Changes && q.Of != nil:
		return errors.New("a count of changes has no quantiles")
	case !q.Changes && (q.By.State || len(q.States) > 0):
		return errors.New("only changes have a state")
	}
	return nil
}

// GroupPage are the groups, the largest first, or days the newest first, at most MaxGroups.
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

// Group is the statistics of the lifecycles with the same value of By.
type Group struct {
	Value string
	// Count counts all, and With those that have a value of Of.
	Count, With int64
	// Quantiles are those of the query; nil if With is 0.
	Quantiles []time.Duration
}
