// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Control sequences. The pair around a frame makes terminals that know it show
// the frame at once. Lines are cleared one by one: some terminals keep a screen
// that is cleared as a whole in their history, once for each frame.
const (
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
	clearRest  = "\x1b[K"
)

// Live draws trees in place on a terminal, over and over: each drawing replaces
// the one before. What else is to be seen there must be written through it.
//
// A tree taller than the screen is thinned to what is open or went wrong. It is
// safe for concurrent use.
type Live struct {
	mu   sync.Mutex
	w    io.Writer
	size func() (width, height int)
	o    Options

	traces []*span.Trace
	// drawn are the widths of the lines on the screen that are ours.
	drawn []int
	// midLine says that others' output stands above that has not ended its
	// line.
	midLine bool
	closed  bool
}

// NewLive returns a Live that has drawn nothing. It asks size for the
// terminal's width and height at each drawing, so a caller that learns of a
// resize only has to draw again; of o it uses Color, Full and, until the first
// Draw, Now.
func NewLive(w io.Writer, size func() (width, height int), o Options) *Live {
	return &Live{w: w, size: size, o: o}
}

// Draw replaces what is drawn by traces as they are at now. It keeps traces to
// draw them again. After Close it does nothing.
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

// Write puts p above the tree, as it is: the output of others. While a line of
// theirs has no end yet, no tree is drawn below it.
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

// Close takes the tree off the screen and draws no more. What is written
// afterwards passes through.
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

// back is how many rows the drawing takes, which is forgotten. A terminal that
// has become narrower has broken long lines: they take more rows now.
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

// wipe empties that many rows above the cursor, and goes to the first of them.
func wipe(rows int) string { return up(rows) + clearDown(rows) }

// clearDown empties that many rows from the cursor on, and comes back.
func clearDown(rows int) string {
	if rows <= 0 {
		return ""
	}
	return strings.Repeat(clearRest+"\n", rows) + up(rows)
}

// frame is the drawing of all traces over the rows above the cursor that the
// one before took. It is no taller than the screen less the cursor's line, and
// no line is as wide as the screen: the last cell would break it on some
// terminals.
func (l *Live) frame(width, height, before int) string {
	o := l.o
	o.Width = max(width-1, minWidth)
	var lines []line
	for d := unlimited; d <= countEnded; d++ {
		lines = lines[:0]
		for i, t := range l.traces {
			if i > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, treeLines(t, o, d)...)
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
