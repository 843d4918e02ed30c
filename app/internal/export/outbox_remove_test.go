// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

// marks is a log that records the calls of Done, until it fails.
type marks struct {
	Log

	err   error
	calls []int
}

func (m *marks) Done(_ context.Context, _ journal.Consumer, seqs ...uint64) error {
	if m.err == nil {
		m.calls = append(m.calls, len(seqs))
	}
	return m.err
}

func TestRemovals(t *testing.T) {
	many := make([]uint64, 2*maxRemove+1)
	synctest.Test(t, func(t *testing.T) {
		log := new(marks)
		r := &removals{log: log, linger: time.Second, calling: make(chan struct{}, 1)}
		// want checks the wait for the next removal.
		want := func(reason string, pause time.Duration, some bool) {
			t.Helper()
			if got, is := r.due(); got != pause || is != some {
				t.Errorf("%s: due in %s, %t; want %s, %t", reason, got, is, pause, some)
			}
		}
		want("nothing to remove", 0, false)
		r.add(1)
		want("others may follow", time.Second, true)
		time.Sleep(time.Second / 2)
		r.add(2)
		want("the first one counts", time.Second/2, true)
		log.err = errors.New("disk full")
		if err := r.removeAll(t.Context()); !errors.Is(err, log.err) || len(r.seqs) != 2 {
			t.Errorf("got %v, and %d are left", err, len(r.seqs))
		}
		want("a failed removal is repeated later", 2*time.Second, true)
		r.add(many...)
		want("many entries wait only after a failure", time.Second, true)
		time.Sleep(time.Second)
		want("many entries wait for no others", 0, true)
		log.err = nil
		if err := r.removeAll(t.Context()); err != nil {
			t.Error(err)
		}
		if !slices.Equal(log.calls, []int{maxRemove, maxRemove, 3}) {
			t.Errorf("the calls had %v entries", log.calls)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		r.add(3)
		r.calling <- struct{}{} // another removal takes long
		if _, err := r.remove(ended); !errors.Is(err, context.Canceled) || len(r.seqs) != 1 {
			t.Errorf("got %v, and %d are left", err, len(r.seqs))
		}
	})
}

func TestDrops(t *testing.T) {
	now := time.Now()
	d := newDrops()
	var told []string
	tell := func() { d.tell(func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }) }
	if d.byReason() != nil {
		t.Error("there are counts without a loss")
	}
	d.count(2, DroppedAge, now)
	d.count(3, DroppedAge, now.Add(tellEvery-1))
	d.count(1, DroppedFull, now)
	tell()
	d.count(4, DroppedAge, now.Add(tellEvery-1))
	tell()
	d.count(5, DroppedAge, now.Add(tellEvery))
	tell()
	if got := d.byReason(); got[DroppedAge] != 14 || got[DroppedFull] != 1 {
		t.Errorf("the counts are %v", got)
	}
	want := []string{
		"5 spans have been dropped that were to be sent: " + dropWords[DroppedAge],
		"1 spans have been dropped that were to be sent: " + dropWords[DroppedFull],
		"14 spans have been dropped that were to be sent: " + dropWords[DroppedAge],
	}
	if !slices.Equal(told, want) {
		t.Errorf("the warnings are %q, want %q", told, want)
	}
}

func TestTrouble(t *testing.T) {
	warned := 0
	tr := trouble{warn: func(string, ...any) { warned++ }}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	failure := errors.New("disk full")
	for i, c := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{t.Context(), failure, 1},
		{t.Context(), failure, 1}, // it lasts
		{t.Context(), nil, 1},
		{ended, failure, 1}, // because of the end
		{t.Context(), nil, 1},
		{t.Context(), failure, 2},
	} {
		if tr.note(c.ctx, c.err); warned != c.want {
			t.Errorf("step %d: %d warnings, want %d", i, warned, c.want)
		}
	}
}
