// SPDX-License-Identifier: Apache-2.0

// Package render draws traces: as a tree with bars, as a table, as an OTLP JSON
// document, and live on a terminal. It writes to an io.Writer, looks at no
// environment and decides nothing: callers say how wide, whether in colour and
// what time it is.
//
// Names and messages come from a cluster and are not trusted: whatever could
// move the cursor, change colours or reorder text is shown escaped.
package render

import (
	"time"
)

// defaultWidth serves where no terminal tells its own.
const defaultWidth = 100

// minWidth is what a line needs to say anything.
const minWidth = 20

// Options says how to draw. The zero value draws 100 cells wide, without
// colour, at the zero time; set Now wherever spans may be open.
type Options struct {
	// Width is the number of cells in a line; 0 means 100.
	Width int
	// Color allows ANSI colours. Whether NO_COLOR or a pipe forbids them is
	// the caller's to know.
	Color bool
	// Now is how far open spans reach.
	Now time.Time
	// Cluster is the UID of the cluster, for documents; may be empty.
	Cluster string
	// Full draws every span: neither many siblings alike are folded, nor what
	// other components emitted.
	Full bool
}

func (o Options) width() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return max(o.Width, minWidth)
}
