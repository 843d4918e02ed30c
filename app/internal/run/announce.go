// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
)

const (
	// announcePatience limits one request to the server, and lastAnnouncement the wait for the last
	// one after the effects have settled.
	announcePatience = 5 * time.Second
	lastAnnouncement = 3 * time.Second
	// announceAgain is the pause after a failed request.
	announceAgain = time.Second
)

// announcer announces the command and its writes to a server, so that the server reports the change
// under the same trace ID. It starts with the first write; without a server it does nothing.
type announcer struct {
	// connect returns the server; nil if there is none.
	connect func(context.Context) (*cli.Session, error)
	now     func() time.Time

	mu     sync.Mutex
	run    observation.Run
	writes []*observation.Write
	// began means that the goroutine was started; wake wakes it, and done closes at its end.
	began  bool
	wake   chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
	// server is the URL of the server that has the whole announcement.
	server string
	// err is the reason why the server does not have it.
	err error
}

func newAnnouncer(connect func(context.Context) (*cli.Session, error), now func() time.Time) *announcer {
	return &announcer{connect: connect, now: now, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// command sets the state of the command, at its start and at its end.
func (a *announcer) command(run observation.Run) {
	a.mu.Lock()
	a.run = run
	a.mu.Unlock()
	a.rouse()
}

// wrote announces a write, stored or refused. It does not block.
func (a *announcer) wrote(ctx context.Context, w *observation.Write) {
	a.mu.Lock()
	a.writes = append(a.writes, w)
	if !a.began {
		a.began = true
		ctx, a.cancel = context.WithCancel(ctx)
		go a.announce(ctx)
	}
	a.mu.Unlock()
	a.rouse()
}

func (a *announcer) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// close waits for the last announcement for a short time. It returns the URL of the server that has
// all of them, or the reason why none has; both are empty without a server or a write.
func (a *announcer) close() (server string, err error) {
	a.mu.Lock()
	began := a.began
	a.mu.Unlock()
	if !began {
		return "", nil
	}
	timer := time.AfterFunc(lastAnnouncement, a.cancel)
	defer timer.Stop()
	<-a.done
	a.cancel()
	return a.server, a.err
}

// announce sends announcements until the last one, a rejection, or the end of ctx.
func (a *announcer) announce(ctx context.Context) {
	defer close(a.done)
	session, err := a.connect(ctx)
	if session == nil {
		a.err = err
		return
	}
	defer session.Close()
	every := time.NewTicker(announcement.Every)
	defer every.Stop()
	for {
		doc := a.next()
		err := a.send(ctx, session, doc)
		var rejected *api.Error
		switch {
		case errors.As(err, &rejected) && rejected.Code < 500 && rejected.Code != http.StatusTooManyRequests:
			a.err = err
			return
		case err != nil && ctx.Err() != nil:
			a.err = err
			return
		case err != nil:
			a.back(doc)
			if !pause(ctx, announceAgain) {
				a.err = err
				return
			}
			continue
		case !doc.Run.End.IsZero() && a.empty():
			a.server = session.Server()
			return
		case !a.empty():
			continue
		}
		select {
		case <-a.wake:
		case <-every.C:
		case <-ctx.Done():
			a.err = errors.New("it did not answer in time")
			return
		}
	}
}

// next returns the next announcement. The end of the command is part of the last one only.
func (a *announcer) next() *announcement.Announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(len(a.writes), announcement.MaxWrites)
	doc := &announcement.Announcement{Sent: a.now(), Run: a.run, Writes: a.writes[:n:n]}
	if a.writes = a.writes[n:]; len(a.writes) > 0 {
		doc.Run.End, doc.Run.ExitCode = time.Time{}, 0
	}
	return doc
}

// back returns the writes of a failed announcement to the queue.
func (a *announcer) back(doc *announcement.Announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = append(doc.Writes, a.writes...)
}

func (a *announcer) empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.writes) == 0
}

func (a *announcer) send(ctx context.Context, s *cli.Session, doc *announcement.Announcement) error {
	ctx, cancel := context.WithTimeout(ctx, announcePatience)
	defer cancel()
	return s.Announce(ctx, doc)
}

// pause waits for d; false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
