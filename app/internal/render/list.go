// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxCell bounds a cell of a list that is not Wide: no name that a cluster
// chose pushes the other columns far away.
const maxCell = 120

// ListOptions says how List draws. Of Options it uses Color, Now and Width,
// where 0 means as wide as it takes. Ages count up to Now, and times are told
// in its location.
type ListOptions struct {
	Options
	// Wide tells times instead of ages and trace IDs whole, adds what failed or
	// is waited for, and cuts nothing.
	Wide bool
	// Namespace is where objects are that are named without their namespace;
	// empty for none.
	Namespace string
	// Whole tells trace IDs whole and cuts nothing.
	Whole bool
}

// List draws one row for each trace, in the order given, as kubectl does for
// objects: when, which, who did what, how it ended, and what took longest.
// Nothing is written for no traces.
func List(w io.Writer, traces []store.Summary, o ListOptions) error {
	if len(traces) == 0 {
		return nil
	}
	rows := make([]listRow, 0, len(traces)+1)
	rows = append(rows, listHeader(o))
	for i := range traces {
		rows = append(rows, listTrace(&traces[i], o))
	}
	widths := fitList(rows, o)
	out := bufio.NewWriter(w)
	for _, r := range rows {
		fmt.Fprintln(out, r.line(widths, o).string(o.Color))
	}
	return out.Flush()
}

// cuts reports whether lines must keep to a width.
func (o ListOptions) cuts() bool { return o.Width > 0 && !o.whole() }

// whole reports whether everything is told at full length.
func (o ListOptions) whole() bool { return o.Wide || o.Whole }

// fitList gives each column the width of its widest cell. Where a line has less
// room, names give way, then whole columns: what took longest, before what was
// done can no longer be recognised, then who.
func fitList(rows []listRow, o ListOptions) [numColumns]int {
	var widths [numColumns]int
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
		{colOutcome, 10}, {colWho, 21}, {colWhat, 40}, {colSlowest, 18}, {colWho, 12}, {colWhat, 26}, {colSlowest, 9},
		{colWho, 10}, {colSlowest, 0}, {colWhat, 16}, {colWho, 0}, {colWhat, 8},
	} {
		over := listWidth(widths) - o.width()
		switch {
		case over <= 0:
		case step.least > 0:
			give(&widths[step.column], min(step.least, widths[step.column]), over)
		default: // others have given more than they need to, now
			widths[step.column] = 0
			widths[colWhat] = min(want, widths[colWhat]+max(0, o.width()-listWidth(widths)))
		}
	}
	return widths
}

// listWidth is how wide lines of these columns are.
func listWidth(widths [numColumns]int) int {
	sum := -gap
	for _, n := range widths {
		if n > 0 {
			sum += n + gap
		}
	}
	return sum
}
