// SPDX-License-Identifier: Apache-2.0

package question

import "time"

// Step is the time of one span of a phase.
type Step struct {
	// Phase is the name in Phases.
	Phase string
	Start time.Time
	// End is zero while the step is open.
	End time.Time
}

// stepFields returns the start and the end of each phase with steps.
func stepFields() []Field {
	var begins, ends []Field
	for _, p := range Phases() {
		if p.Span == "" {
			continue
		}
		begins = append(begins, Field{
			Name: began + "." + p.Name, Type: Timestamp, Optional: true,
			Table: Steps, Column: "start", Phase: p.Name, Meaning: "start of `" + phase + "." + p.Name + "`",
			value: func(l *Lifecycle) any { return beginOf(l.Steps, p.Name) },
		})
		ends = append(ends, Field{
			Name: ended + "." + p.Name, Type: Timestamp, Optional: true,
			Table: Steps, Column: "until", Phase: p.Name,
			Meaning: "end of `" + phase + "." + p.Name + "`, without open spans",
			value:   func(l *Lifecycle) any { return completionOf(l.Steps, p.Name) },
		})
	}
	return append(begins, ends...)
}

// beginOf returns the first start of the steps of a phase, or nil without steps.
func beginOf(steps []Step, phase string) any {
	var first time.Time
	found := false
	for i := range steps {
		s := &steps[i]
		if s.Phase == phase && (!found || s.Start.Before(first)) {
			first, found = s.Start, true
		}
	}
	if !found {
		return nil
	}
	return within(first)
}

// completionOf returns the last end of the steps of a phase, or nil without steps or while one is open.
func completionOf(steps []Step, phase string) any {
	var last time.Time
	found := false
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Phase != phase:
		case s.End.IsZero():
			return nil
		case !found || s.End.After(last):
			last, found = s.End, true
		}
	}
	if !found {
		return nil
	}
	return within(last)
}

// endOf returns the end of a finished lifecycle, or nil.
func endOf(l *Lifecycle) any {
	if l.Outcome == "" {
		return nil
	}
	n, fits := Plus(within(l.Start).UnixNano(), l.Duration.Nanoseconds())
	if !fits {
		return nil
	}
	return time.Unix(0, n).UTC()
}
