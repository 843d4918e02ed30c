// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Control sequences. The frame pair makes supporting terminals show the frame at once. Lines are
// cleared one by one, because some terminals add a screen cleared as a whole to their history for
// each frame.
const (
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
	clearRest  = "\x1b[K"
)

// Live redraws trees in place on a terminal: each drawing replaces the last. All other output to
// the terminal must be written through it.
//
// The newest trace comes first. Traces without progress for a minute are one line each, below the
// others. Trees taller than the screen are reduced to open and failed spans. Live is safe for
// concurrent use.
type Live struct {
	mu   sync.Mutex
	w    io.Writer
	size func() (width, height int)
	o    Options

	traces []*span.Trace
	// drawn are the widths of our lines on the screen.
	drawn []int
	// midLine means that other output above has an unfinished line.
	midLine bool
	closed  bool
}

// NewLive returns an empty Live. It calls size for the terminal's width and height at each drawing,
// so that after a resize a caller only has to draw again. Of o it uses Color, Full and, until the
// first Draw, Now.
func NewLive(w io.Writer, size func() (width, height int), o Options) *Live {
	return &Live{w: w, size: size, o: o}
}

// Draw replaces the drawing by traces at now. It retains traces for later drawings. After Close it
// does nothing.
func (l *Live) Draw(traces []*span.Trace, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traces, l.o.Now = traces, now
	if l.closed || l.midLine {
		return nil
	}
	width, height := l.size()
	return l.emit(l.frame(width, height, l.back(width, height)))
}

// Write writes p, other output, unchanged above the tree. Below an unfinished line no tree is
// drawn.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	width, height := l.size()
	frame := wipe(l.back(width, height)) + string(p)
	l.midLine = p[len(p)-1] != '\n'
	if !l.closed && !l.midLine {
		frame += l.frame(width, height, 0)
	}
	if err := l.emit(frame); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close removes the tree from the screen and stops drawing. Later writes pass through.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.emit(wipe(l.back(l.size())))
}

func (l *Live) emit(frame string) error {
	if frame == "" {
		return nil
	}
	_, err := io.WriteString(l.w, beginFrame+frame+endFrame)
	return err
}

// back returns the number of rows of the drawing, and forgets it. A terminal that became narrower
// has wrapped long lines, so they take more rows.
func (l *Live) back(width, height int) int {
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+width-1)/max(width, 1))
	}
	l.drawn = l.drawn[:0]
	return max(0, min(rows, height-1))
}

func up(rows int) string {
	if rows <= 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}

// wipe clears that many rows above the cursor, and moves to the first of them.
func wipe(rows int) string { return up(rows) + clearDown(rows) }

// clearDown clears that many rows from the cursor down, and returns.
func clearDown(rows int) string {
	if rows <= 0 {
		return ""
	}
	return strings.Repeat(clearRest+"\n", rows) + up(rows)
}

// stuckAfter is the time without progress after which a trace is one line.
const stuckAfter = time.Minute

// split returns the traces to draw as trees, and those to draw as one line; both newest first. The
// newest of all is a tree.
func (l *Live) split() (trees, stuck []*span.Trace) {
	sorted := slices.Clone(l.traces)
	slices.SortStableFunc(sorted, func(a, b *span.Trace) int { return start(b).Compare(start(a)) })
	for i, t := range sorted {
		if i > 0 && l.o.Now.Sub(progress(t)) >= stuckAfter {
			stuck = append(stuck, t)
		} else {
			trees = append(trees, t)
		}
	}
	return trees, stuck
}

func start(t *span.Trace) time.Time {
	if root := t.Root(); root != nil {
		return root.Start.Time
	}
	return time.Time{}
}

// progress returns the time of the last start or end of a span.
func progress(t *span.Trace) time.Time {
	var last time.Time
	for _, s := range t.Spans {
		for _, at := range []time.Time{s.Start.Time, s.End.Time} {
			if at.After(last) {
				last = at
			}
		}
	}
	return last
}

// frame draws all traces over the previous drawing's rows above the cursor. It leaves one line of
// the screen for the cursor. No line fills the screen's width, because some terminals wrap at the
// last cell.
func (l *Live) frame(width, height, before int) string {
	o := l.o
	o.Width = max(width-1, minWidth)
	newest, stuck := l.split()
	var lines []line
	for d := unlimited; d <= countEnded; d++ {
		lines = lines[:0]
		for i, t := range newest {
			if i > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, treeLines(t, o, d)...)
		}
		if len(stuck) > 0 && len(lines) > 0 {
			lines = append(lines, nil)
		}
		for _, t := range stuck {
			lines = append(lines, summaryLine(t, o))
		}
		if len(lines) < height {
			break
		}
	}
	if room := max(height-1, 1); len(lines) > room {
		hidden := len(lines) - (room - 1)
		lines = append(lines[:room-1], line{{fmt.Sprintf("… %d more lines", hidden), dim}})
	}
	var b strings.Builder
	b.WriteString(up(before))
	for _, ln := range lines {
		l.drawn = append(l.drawn, ln.cells())
		b.WriteString(ln.string(o.Color) + clearRest + "\n")
	}
	b.WriteString(clearDown(before - len(lines)))
	return b.String()
}
