// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube-lifeline/lifeline/app/internal/replica"
)

// ErrIdentity is wrapped in Run's error when another process has taken the member's identity.
var ErrIdentity = errors.New("another process has the same identity")

// Member is a member of a group that communicates through Leases.
type Member struct {
	o        Options
	instance string // distinguishes this process from an earlier one of the same identity

	// These fields belong to the goroutine of Run.
	own     *coordinationv1.Lease
	watcher watcher
	took    bool   // own was written by this process
	sent    State  // the State in own
	left    uint64 // Done of an earlier process with this identity; 0 without one
	ready   bool   // all namespaces of some View were observed once
	leaving bool
	recall  recall
	failed  string

	mu    sync.Mutex
	view  View
	until time.Time // end of the validity of view
}

// New returns a Member, which takes part during Run. It returns an error for invalid options.
func New(o Options) (*Member, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Member{o: o, instance: o.Identity + "_" + rand.Text(), recall: recall{span: o.Recall}}, nil
}

// View returns the View that is valid now. It is safe for concurrent use, and correct even while a
// request hangs. Get a new View before each output: an old one may have expired.
func (m *Member) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.view
	v.valid = v.valid && time.Now().Before(m.until)
	return v
}

// Run takes part until ctx ends and, with a Grace, until the member's work is handed over. Hooks
// are called until it returns. Failures are retried; a returned error is final and wraps
// ErrIdentity.
func (m *Member) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer m.show(View{}, time.Time{})
	ended, grace := ctx.Done(), (<-chan time.Time)(nil)
	for {
		again, err := m.tick(work)
		if errors.Is(err, ErrIdentity) {
			return err
		}
		m.warn(err)
		if again == done {
			return m.leave(work)
		}
		select {
		case <-ended:
			if m.o.Grace == 0 {
				return nil
			}
			m.leaving, ended = true, nil
			timer := time.NewTimer(m.o.Grace)
			defer timer.Stop()
			grace = timer.C
		case <-grace:
			return m.leave(work)
		case <-time.After(wait.Jitter(m.pause(again), 0.1)):
		}
	}
}

// finding is the result of a tick.
type finding int

const (
	steady finding = iota // no change
	moving                // other members wait for this member's State
	done                  // a leaving member has no work left
)

func (m *Member) pause(f finding) time.Duration {
	if f == moving {
		return m.o.RetryPeriod / 4
	}
	if !m.view.valid {
		return m.o.RetryPeriod
	}
	// Not later than the View's end, so that OnView reports the end in time.
	return max(min(m.o.RetryPeriod, time.Until(m.until)), m.o.RetryPeriod/4)
}

// tick publishes the member's State, reads the others, changes the Table if needed, and applies it.
func (m *Member) tick(ctx context.Context) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.RenewDeadline/2)
	defer cancel()
	if v := m.View(); m.view.valid && !v.valid {
		m.o.Log.Warn("no contact with the group: nothing is handed out", "group", m.o.Name)
		m.show(v, m.until)
	}
	began := time.Now()
	s := m.state()
	s.Since = m.recall.since(time.Now(), s.Done)
	if err := m.renew(ctx, s); err != nil {
		return steady, err
	}
	asked := time.Now()
	statuses, lease, err := m.look(ctx, asked)
	if err != nil {
		return steady, err
	}
	table, err := m.plan(ctx, lease, statuses)
	if err != nil {
		return steady, err
	}
	v := View{table: table, self: m.o.Identity, valid: true}
	if slices.Contains(table.live(), m.o.Identity) {
		v.resume = m.left
	}
	changed := m.show(v, began.Add(m.o.RenewDeadline))
	err = m.clean(ctx, table, statuses)
	switch {
	case m.leaving && (drained(table, m.o.Identity, m.sent) || alone(m.o.Identity, statuses)):
		return done, err
	case changed || table.Pending != nil:
		return moving, err
	}
	return steady, err
}

// show sets the View, and calls OnView if it differs.
func (m *Member) show(v View, until time.Time) bool {
	m.mu.Lock()
	before := m.view
	m.view, m.until = v, until
	m.mu.Unlock()
	if before.valid == v.valid && before.self == v.self && before.table.Version == v.table.Version {
		return false
	}
	if v.valid {
		m.o.Log.Info(
			"shards",
			"group",
			m.o.Name,
			"version",
			v.table.Version,
			"epochs",
			len(v.table.Epochs),
			"pending",
			v.table.Pending != nil,
		)
	}
	m.o.Hooks.OnView(v)
	return true
}

// state returns the member's present State.
func (m *Member) state() State {
	m.mu.Lock()
	v := m.view
	m.mu.Unlock()
	s := State{Version: v.table.Version, Leaving: m.leaving}
	if v.self != "" {
		s.Ready = m.o.Hooks.Ready(v)
		m.ready = m.ready || s.Ready
	}
	// The order matters: Open includes the work that Ready has found.
	s.Since = floor(m.o.Hooks.Open(), v.table, s.Ready)
	if !m.ready && m.left != 0 {
		s.Since = min(s.Since, m.left)
	}
	s.Done = s.Since
	s.Seen, s.Complete = m.o.Hooks.Seen(), m.o.Hooks.Complete()
	return s
}

// leave publishes that the member has stopped.
func (m *Member) leave(ctx context.Context) error {
	s := m.state()
	m.show(View{}, time.Time{})
	// Spans that were handed out in between may be repeated.
	s.Left = true
	ctx, cancel := context.WithTimeout(ctx, m.o.RenewDeadline/2)
	defer cancel()
	if err := m.renew(ctx, s); err != nil {
		m.warn(fmt.Errorf("%w; others take over in %s", err, m.o.LeaseDuration))
	}
	return nil
}

// alone reports whether no other member can take over.
func alone(self string, all []Status) bool {
	return !slices.ContainsFunc(all, func(s Status) bool { return s.Identity != self && s.alive() && !s.Leaving })
}

// warn logs an error, and logs it again only after another one.
func (m *Member) warn(err error) {
	if err == nil {
		m.failed = ""
		return
	}
	if text := err.Error(); text != m.failed {
		m.failed = text
		m.o.Log.Warn(replica.Advise(err).Error())
	}
}
