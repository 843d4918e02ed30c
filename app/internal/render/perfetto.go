// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// event is an event of the JSON format of traces that Perfetto and Chrome read.
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid,omitempty"`
	Start    json.Number    `json:"ts,omitempty"`
	Length   json.Number    `json:"dur,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// Perfetto writes traces for ui.perfetto.dev. Each object is a process, and so is each other component. Its
// threads are lanes: spans of one lane nest or follow each other, as the format demands. Open spans end at
// o.Now. The same traces give the same bytes.
func Perfetto(w io.Writer, traces []*span.Trace, o Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"displayTimeUnit":"ms","traceEvents":[`)
	p := perfetto{out: out, processes: map[string]*process{}}
	for _, t := range traces {
		for _, s := range ordered(t, o.Now) {
			p.span(s, o.Now)
		}
	}
	if p.err != nil {
		return fmt.Errorf("cannot write traces for Perfetto: %w", p.err)
	}
	fmt.Fprintln(out, "]}")
	return out.Flush()
}

// ordered returns the spans by their starts, the longest of one moment first.
func ordered(t *span.Trace, now time.Time) []*span.Span {
	list := slices.Clone(t.Spans)
	slices.SortStableFunc(list, func(a, b *span.Span) int {
		return cmp.Or(a.Start.Compare(b.Start.Time), cmp.Compare(b.Duration(now), a.Duration(now)))
	})
	return list
}

type perfetto struct {
	out       io.Writer
	processes map[string]*process
	// begun counts all processes.
	begun   int
	written bool
	err     error
}

// maxLanes bounds the lanes of a process. Further spans that overlap get another process of the same name: the
// search for a lane would take too long.
const maxLanes = 200

// process is one row of Perfetto. lanes has the ends of the spans that are open in each lane, the outermost
// first.
type process struct {
	id    int
	lanes [][]time.Time
}

func (p *perfetto) span(s *span.Span, now time.Time) {
	name := s.Service
	if s.Origin == nil && s.Object.Name != "" {
		name = s.Object.Kind.Kind + " " + s.Object.Name
		if s.Object.Namespace != "" {
			name = s.Object.Kind.Kind + " " + s.Object.Namespace + "/" + s.Object.Name
		}
	}
	name = object.Bound(name)
	length := max(0, s.Duration(now))
	proc := p.processes[name]
	lane := 0
	if proc != nil {
		lane = proc.lane(s.Start.Time, s.Start.Add(length))
	}
	if lane == 0 {
		proc = p.begin(name)
		lane = proc.lane(s.Start.Time, s.Start.Add(length))
	}
	args := map[string]any{"span": s.ID.String(), "trace": s.TraceID.String(), "component": object.Bound(s.Service)}
	for _, a := range s.Attributes {
		args[object.Bound(string(a.Key))] = object.Bound(a.Value.String())
	}
	for key, text := range map[string]string{
		"outcome": string(s.Outcome), "evidence": string(s.Evidence), "message": object.Bound(s.Message),
	} {
		if text != "" {
			args[key] = text
		}
	}
	if s.Open() {
		args["open"] = true
	}
	category := "lifeline"
	if s.Origin != nil {
		category = "component"
	}
	p.addEvent(event{
		Phase: "X", Name: object.Bound(insight.Label(s)), Category: category, Process: proc.id, Thread: lane,
		Start: microseconds(s.Start.UnixNano()), Length: microseconds(length.Nanoseconds()), Args: args,
	})
	for _, e := range s.Events {
		p.addEvent(event{
			Phase: "i", Name: object.Bound(e.Name), Category: category, Process: proc.id, Thread: lane,
			Start: microseconds(e.Time.UnixNano()), Scope: "t",
		})
	}
}

// begin adds a process, which takes the further spans of that name.
func (p *perfetto) begin(name string) *process {
	p.begun++
	proc := &process{id: p.begun}
	p.processes[name] = proc
	p.addEvent(event{Phase: "M", Name: "process_name", Process: proc.id, Args: map[string]any{"name": name}})
	p.addEvent(event{
		Phase: "M", Name: "process_sort_index", Process: proc.id, Args: map[string]any{"sort_index": proc.id},
	})
	return proc
}

// lane returns the number, from 1, of the first lane where a span nests in the open ones or follows them; 0 if
// there is none.
func (p *process) lane(start, end time.Time) int {
	for i, open := range p.lanes {
		for len(open) > 0 && !open[len(open)-1].After(start) {
			open = open[:len(open)-1]
		}
		if len(open) == 0 || !end.After(open[len(open)-1]) {
			p.lanes[i] = append(open, end)
			return i + 1
		}
		p.lanes[i] = open
	}
	if len(p.lanes) == maxLanes {
		return 0
	}
	p.lanes = append(p.lanes, []time.Time{end})
	return len(p.lanes)
}

func (p *perfetto) addEvent(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return
	}
	if p.written {
		fmt.Fprint(p.out, ",")
	}
	p.written = true
	fmt.Fprintf(p.out, "\n%s", line)
}

// microseconds writes nanoseconds in the format's unit.
func microseconds(ns int64) json.Number {
	return json.Number(strconv.FormatInt(ns/1000, 10) + fmt.Sprintf(".%03d", ns%1000))
}
