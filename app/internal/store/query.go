// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The lengths of pages.
const (
	// DefaultPage is the length for a query without one.
	DefaultPage = 100
	// MaxPage is the longest; a longer request gets this length.
	MaxPage = 10_000
)

// Query selects traces. A zero field selects all.
type Query struct {
	Scope Scope
	// IDs selects traces with any of these IDs.
	IDs []trace.TraceID
	// Since and Until bound the start: not before Since, before Until.
	Since, Until time.Time
	// Outcomes selects traces with any of these outcomes.
	Outcomes []span.Outcome
	// Categories selects traces with a reason of any of these categories.
	Categories []string
	// Open selects open traces only. An archive has none.
	Open bool
	// States selects traces with any of these states.
	States []span.State
	// Worse selects traces with an aftermath.
	Worse bool
	// Slower is the shortest duration.
	Slower time.Duration
	// Object selects traces with an object that has all nonempty fields: group, kind, namespace,
	// name, UID. The version does not count.
	Object object.Ref

	// Limit bounds the page; see DefaultPage and MaxPage.
	Limit int
	// After is the end of the previous page.
	After Cursor
}

// Costly reports whether few traces among many may match q, so that an archive may read very many of them.
func (q *Query) Costly() bool {
	return len(q.IDs) == 0 && (q.Object != object.Ref{} || q.Slower > 0 || q.Worse || len(q.Outcomes) > 0 ||
		len(q.Categories) > 0 || len(q.States) > 0 || q.Scope.Namespaces != nil)
}

// Page is a part of a list.
type Page struct {
	Traces []Summary
	// Next is the After of the next Query; empty on the last page.
	Next Cursor
	// Incomplete says why the page may lack traces of the archive; empty if it does not.
	Incomplete string
}

// WriteQuery selects writes. A zero field selects all.
type WriteQuery struct {
	Scope Scope
	// Since and Until bound the end: not before Since, before Until.
	Since, Until time.Time
	TraceID      trace.TraceID
	// Object is as in Query, for the written object.
	Object object.Ref
	// Actor and Part are as in Write.
	Actor, Part string

	Limit int
	After Cursor
}

// Costly is as for a Query.
func (q *WriteQuery) Costly() bool {
	return !q.TraceID.IsValid() &&
		(q.Object != object.Ref{} || q.Actor != "" || q.Part != "" || q.Scope.Namespaces != nil)
}

// WritePage is a part of a list of writes.
type WritePage struct {
	Writes []Write
	Next   Cursor
	// Incomplete is as in Page.
	Incomplete string
}

// PageLength returns the length of a page for a Query's Limit.
func PageLength(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}
