// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxCell bounds a cell of a list that is not Wide, so that a long name cannot push the other
// columns away.
const maxCell = 120

// ListOptions configures List. Of Options it uses Color, Now and Width; Width 0 means unlimited.
// Ages count up to Now, and times are in its location.
type ListOptions struct {
	Options
	// Wide shows times instead of ages and complete trace IDs, adds the cause of failure or
	// waiting, and cuts nothing.
	Wide bool
	// Namespace is the namespace of objects listed without one; empty for none.
	Namespace string
	// Whole shows complete trace IDs and cuts nothing.
	Whole bool
	// Present has the changes after which something is broken now.
	Present map[trace.TraceID]Present
}

// Present is a present problem beside the outcome of a change.
type Present struct {
	// Still means that the problem is not younger than the end of the change.
	Still bool
	Since time.Time
	// Before means that the problem is older than Since.
	Before bool
	// Reason is a sentence.
	Reason string
}

// Broken returns the words for a present problem: one that is not younger than the end of the change, or another one.
func Broken(still bool) string {
	if still {
		return "still broken"
	}
	return "broken since"
}

// text returns "still broken, 3h" or "broken since 12:03".
func (p Present) text(o ListOptions) string {
	if !p.Still {
		at, form := p.Since.In(o.Now.Location()), "2006-01-02 15:04"
		if at.Format(time.DateOnly) == o.Now.Format(time.DateOnly) {
			form = "15:04"
		}
		return Broken(false) + " " + at.Format(form)
	}
	more := ""
	if p.Before {
		more = ">"
	}
	return Broken(true) + ", " + more + duration.HumanDuration(max(0, o.Now.Sub(p.Since)))
}

// List draws one row per trace in the given order, in the style of kubectl: time, ID, actor and
// action, outcome, and the slowest work. A stuck or failed trace has its reason instead, or below the row
// where the line has no room for all of it. A present problem stands beside the outcome, or before its reason in a
// terminal. It writes nothing for no traces.
func List(w io.Writer, traces []store.Summary, o ListOptions) error {
	return NewGrowingList(w).Add(traces, o)
}

// GrowingList draws lists below each other as one: with one header, and columns that never become
// narrower. It is not safe for concurrent use.
type GrowingList struct {
	w      io.Writer
	begun  bool
	widths [numColumns]int
}

// NewGrowingList returns an empty list on w.
func NewGrowingList(w io.Writer) *GrowingList { return &GrowingList{w: w} }

// Add draws rows as List does.
func (l *GrowingList) Add(traces []store.Summary, o ListOptions) error {
	if len(traces) == 0 {
		return nil
	}
	rows := make([]listRow, 0, len(traces)+1)
	if !l.begun {
		rows = append(rows, listHeader(o))
	}
	for i := range traces {
		rows = append(rows, listTrace(&traces[i], o))
	}
	l.begun, l.widths = true, fitList(rows, l.widths, o)
	out := bufio.NewWriter(l.w)
	for _, r := range rows {
		r.place(l.widths, o)
		fmt.Fprintln(out, r.line(l.widths, o).string(o.Color))
		if below := r.below(o); below != nil {
			fmt.Fprintln(out, below.string(o.Color))
		}
	}
	return out.Flush()
}

// cuts reports whether lines are limited in width.
func (o ListOptions) cuts() bool { return o.Width > 0 && !o.whole() }

// whole reports whether everything has full length.
func (o ListOptions) whole() bool { return o.Wide || o.Whole }

// fitList sets each column's width to that of its widest cell, or more where widths has more. In
// narrow lines, names shrink first, then whole columns go. The slowest work goes before the action
// becomes unrecognisable, then the actor.
func fitList(rows []listRow, widths [numColumns]int, o ListOptions) [numColumns]int {
	for _, r := range rows {
		for i := range r.columns {
			widths[i] = max(widths[i], r.width(i))
		}
	}
	if !o.cuts() {
		return widths
	}
	want := widths[colWhat]
	for _, step := range []struct{ column, least int }{
		{colOutcome, 10}, {colWho, 21}, {colWhat, 40}, {colChanged, 30}, {colSlowest, 44}, {colWhat, 30},
		{colChanged, 20}, {colWho, 12}, {colSlowest, 18}, {colWhat, 26}, {colChanged, 14}, {colSlowest, 9},
		{colWho, 10}, {colSlowest, 0}, {colWhat, 16}, {colWho, 0}, {colWhat, 8},
	} {
		over := listWidth(widths) - o.width()
		switch {
		case over <= 0:
		case step.least > 0:
			give(&widths[step.column], min(step.least, widths[step.column]), over)
		default: // give back the cells that others gave in excess
			widths[step.column] = 0
			widths[colWhat] = min(want, widths[colWhat]+max(0, o.width()-listWidth(widths)))
		}
	}
	return widths
}

// listWidth returns the width of lines with these columns.
func listWidth(widths [numColumns]int) int {
	sum := -gap
	for _, n := range widths {
		if n > 0 {
			sum += n + gap
		}
	}
	return sum
}
