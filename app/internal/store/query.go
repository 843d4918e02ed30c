// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// How long a page is.
const (
	// DefaultPage is the length where a query names none.
	DefaultPage = 100
	// MaxPage is the longest; a query that asks for more gets this.
	MaxPage = 10_000
)

// Query says which traces. What is zero restricts nothing.
type Query struct {
	// Since and Until bound the start: not before Since, before Until.
	Since, Until time.Time
	// Outcomes are those wanted: any of them.
	Outcomes []span.Outcome
	// Open wants open traces only.
	Open bool
	// Slower wants a duration of at least that much.
	Slower time.Duration
	// Object wants that the trace touches one object which has all that is
	// set here: group, kind, namespace, name, UID. The version does not count.
	Object object.Ref

	// Limit is how many at most; see DefaultPage and MaxPage.
	Limit int
	// After goes on where a page ended.
	After Cursor
}

// Page is a part of a list.
type Page struct {
	Traces []Summary
	// Next is for the Query's After; empty on the last page.
	Next Cursor
}

// WriteQuery says which writes. What is zero restricts nothing.
type WriteQuery struct {
	// Since and Until bound the end: not before Since, before Until.
	Since, Until time.Time
	TraceID      trace.TraceID
	// Object is as in Query, for the object written.
	Object object.Ref
	// Actor and Part are as in Write.
	Actor, Part string

	Limit int
	After Cursor
}

// WritePage is a part of a list of writes.
type WritePage struct {
	Writes []Write
	Next   Cursor
}

// PageLength is how many entries a query with that Limit gets.
func PageLength(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}
