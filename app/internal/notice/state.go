// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// state is the saved form of a Board.
type state struct {
	Receivers []savedReceiver `json:"receivers,omitempty"`
}

type savedReceiver struct {
	Name    string      `json:"name"`
	Told    []savedTold `json:"told,omitempty"`
	Slower  []savedSlow `json:"slower,omitempty"`
	Pending []saved     `json:"pending,omitempty"`
	// Worse are the changes with a notice of type Worse.
	Worse map[string]time.Time `json:"worse,omitempty"`
}

type savedTold struct {
	saved
	Present  string `json:"present"`
	Category string `json:"category"`
}

type savedSlow struct {
	saved
	Series  []string  `json:"series"`
	Missing time.Time `json:"missing,omitzero"`
}

// saved is a notice with the fields that its data lacks.
type saved struct {
	ID     string    `json:"id"`
	Type   Type      `json:"type"`
	Time   time.Time `json:"time"`
	First  string    `json:"first,omitempty"`
	Notice Notice    `json:"notice"`
}

func save(n *Notice) saved { return saved{n.ID, n.Type, n.Time, n.First, *n} }

func (s *saved) restore() Notice {
	n := s.Notice
	n.ID, n.Type, n.Time, n.First = s.ID, s.Type, s.Time, s.First
	return n
}

// State returns the state to save, and whether it differs from that of the last call.
func (b *Board) State() (data []byte, changed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed, b.dirty = b.dirty, false
	var s state
	for _, r := range b.receivers {
		one := savedReceiver{Name: r.Name}
		for _, t := range r.sorted() {
			one.Told = append(one.Told, savedTold{save(&t.notice), t.present, t.category})
		}
		for _, t := range r.slow() {
			one.Slower = append(one.Slower, savedSlow{
				save(&t.notice), slices.Sorted(maps.Keys(t.series)), t.missing,
			})
		}
		for _, e := range r.queue.all {
			one.Pending = append(one.Pending, save(&e.Notice))
		}
		for id, at := range r.worse {
			if one.Worse == nil {
				one.Worse = map[string]time.Time{}
			}
			one.Worse[id.String()] = at
		}
		s.Receivers = append(s.Receivers, one)
	}
	data, err = json.Marshal(s)
	return data, changed, err
}

// restore restores the state of the receivers that still exist.
func (b *Board) restore(data []byte) error {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("cannot read the saved notices: %w", err)
	}
	for _, one := range s.Receivers {
		r := b.receiver(one.Name)
		if r == nil {
			continue
		}
		for _, t := range one.Told {
			n := t.restore()
			r.told[n.Problem] = &told{notice: n, present: t.Present, category: t.Category}
		}
		for _, t := range one.Slower {
			n := t.restore()
			r.slower[n.Regression] = &toldSlower{notice: n, series: setOf(t.Series), missing: t.Missing}
		}
		for text, at := range one.Worse {
			if id, err := trace.TraceIDFromHex(text); err == nil {
				r.worse[id] = at
			}
		}
		for _, p := range one.Pending {
			r.queue.add(p.restore())
		}
	}
	b.Stored()
	return nil
}

// sorted returns the told problems, the oldest notice first.
func (r *receiver) sorted() []*told {
	out := make([]*told, 0, len(r.told))
	for _, t := range r.told {
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y *told) int {
		return cmp.Or(x.notice.Time.Compare(y.notice.Time), cmp.Compare(x.notice.ID, y.notice.ID))
	})
	return out
}
