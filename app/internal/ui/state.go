// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

const (
	// stateEvery is the interval of the state of a server in this process.
	stateEvery = time.Second
	// silence is the delay of the watches that shows an outage of the API server.
	silence = 10 * time.Second
)

// stateOf describes a server that watches `what`. head is the part that stays the same while all is well.
func stateOf(info *api.Info, watch *api.WatchSource, what string) (head, rest string) {
	switch lag := time.Duration(watch.Lag); {
	case info.WatchingSince == nil:
		return "reading " + what, ""
	case lag > silence:
		return "the cluster does not answer: the page has what is stored, and the rest follows later", ""
	}
	head = "watching " + what
	if n := len(watch.Unreadable); n > 0 {
		head += fmt.Sprintf(" without %d kinds that you may not read (-v lists them)", n)
		if n == 1 {
			head = "watching " + what + " without " + cli.Shown(watch.Unreadable[0]) + ", which you may not read"
		}
	}
	rest = ": " + counted(info.Stats.Traces, "change")
	if info.Stats.Open > 0 {
		rest += fmt.Sprintf(", %d open", info.Stats.Open)
	}
	return head, rest
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// stateLine is the last line of a terminal, which is written again in its place. Elsewhere only a new head is a new
// line. It is safe for concurrent use.
type stateLine struct {
	out    io.Writer
	screen cli.Screen

	mu         sync.Mutex
	head, text string
}

func newStateLine(out io.Writer, screen cli.Screen) *stateLine {
	return &stateLine{out: out, screen: screen}
}

// show shows a state.
func (l *stateLine) show(head, rest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.screen.Terminal && head != l.head:
		_, _ = fmt.Fprintf(l.out, "lifeline: %s\n", head)
	case l.screen.Terminal && head+rest != l.text:
		width, _ := l.screen.Size()
		text := []rune("lifeline: " + head + rest)
		text = text[:min(len(text), width-1)]
		_, _ = fmt.Fprintf(l.out, "\r\x1b[K%s", string(text))
	}
	l.head, l.text = head, head+rest
}

// end leaves the line as it is: what follows begins on the next one.
func (l *stateLine) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.screen.Terminal && l.text != "" {
		_, _ = fmt.Fprintln(l.out)
	}
	l.head, l.text = "", ""
}

// faults prints the errors in the log of a server in this process, one line each. It keeps them until open: the
// server of another process is a fault of the start, and no fault of the command.
type faults struct {
	line *stateLine
	say  func(format string, args ...any)

	mu     sync.Mutex
	opened bool
	kept   []string
}

// Write implements io.Writer for one line of the log.
func (f *faults) Write(line []byte) (int, error) {
	var entry struct{ Level, Msg, Error, Do string }
	if json.Unmarshal(bytes.TrimSpace(line), &entry) != nil || entry.Level != "ERROR" {
		return len(line), nil
	}
	text := entry.Msg
	for _, more := range []string{entry.Error, entry.Do} {
		if more != "" {
			text += ": " + more
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened {
		f.print(text)
	} else {
		f.kept = append(f.kept, text)
	}
	return len(line), nil
}

// open prints the kept errors, and from now on each at once.
func (f *faults) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = true
	for _, text := range f.kept {
		f.print(text)
	}
	f.kept = nil
}

func (f *faults) print(text string) {
	f.line.end()
	f.say("%s", cli.Shown(strings.Join(strings.Fields(text), " ")))
}
