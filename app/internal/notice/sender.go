// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

const (
	// answerTime bounds one request.
	answerTime = 30 * time.Second
	// maxAnswer bounds the read part of an answer.
	maxAnswer = 64 << 10
	// firstPause and longestPause are the pauses after a failed delivery; each is twice the one before.
	firstPause, longestPause = time.Second, 5 * time.Minute
	// maxInFlight bounds the requests at the same time.
	maxInFlight = 4
)

// Sender delivers the notices of one receiver of a Board, at least once. Those about one problem are
// delivered in order; a failed one delays no other problem. Set the fields before Run.
type Sender struct {
	Board *Board
	// Name is that of the receiver on the Board.
	Name   string
	Format Format
	// URL is the receiver's URL, or URLFile a file with it. TokenFile is a file with its bearer token, or with
	// the routing key of PagerDuty; empty for none.
	URL, URLFile, TokenFile string
	// Cluster is the cluster's UID, and Page the URL of the web page; empty for none.
	Cluster, Page string
	// Leads reports whether this server delivers. Notices of another one wait.
	Leads func() bool
	// Cause returns a cause as its trace shows it by now. Nil leaves causes as they are.
	Cause func(context.Context, problem.Cause) problem.Cause
	Log   *slog.Logger

	client          http.Client
	sent            [8]atomic.Int64 // by the place of the type in Types
	refused, failed atomic.Int64
	// troubled means that the last attempt has failed.
	troubled atomic.Bool
}

// Stats are counts since the start.
type Stats struct {
	Receiver string
	// Sent are the delivered notices by type.
	Sent map[Type]int64
	// Refused counts the notices that the receiver has refused for good, Dropped those beyond the bound,
	// and Waiting the pending ones. Failures counts failed attempts.
	Refused, Dropped, Failures int64
	Waiting                    int
}

// Stats returns the counts.
func (s *Sender) Stats() Stats {
	out := Stats{Receiver: s.Name, Sent: map[Type]int64{}}
	for i, t := range Types() {
		out.Sent[t] = s.sent[i].Load()
	}
	out.Refused, out.Failures = s.refused.Load(), s.failed.Load()
	out.Waiting, out.Dropped = s.Board.waiting(s.Board.receiver(s.Name))
	return out
}

// errRefused is a permanent refusal.
var errRefused = errors.New("the receiver refuses the notice")

// laterError is a failure after which the receiver wants a pause.
type laterError struct {
	error

	pause time.Duration
}

// Run delivers until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	// A redirect could lead the token elsewhere.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxInFlight)
	if s.Format == Alertmanager { // a repetition must not overtake the end of its alert
		slots = make(chan struct{}, 1)
	}
	of := s.Board.receiver(s.Name)
	repeat := &repetition{sender: s, of: of}
	for lost := int64(0); ctx.Err() == nil; {
		if _, dropped := s.Board.waiting(of); dropped > lost {
			s.Log.Warn("notices are lost: too many wait", "receiver", s.Name, "notices", dropped-lost)
			lost = dropped
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		do, due := s.work(ctx, of, repeat)
		if do != nil {
			running.Go(func() {
				defer func() { <-slots }()
				do()
			})
			continue
		}
		<-slots
		idle(ctx, of.wake, due)
	}
}

// work returns the next request to make. Without one, it returns the time of the next attempt, or zero.
func (s *Sender) work(ctx context.Context, of *receiver, repeat *repetition) (do func(), due time.Time) {
	if !s.Leads() { // each stored look wakes the sender
		return nil, time.Time{}
	}
	now := time.Now()
	if do, due = repeat.work(ctx, now); do != nil {
		return do, due
	}
	e, next := s.Board.next(of, now)
	if e != nil {
		return func() { s.deliver(ctx, of, e) }, time.Time{}
	}
	if due.IsZero() || !next.IsZero() && next.Before(due) {
		due = next
	}
	return nil, due
}

// idle waits for a call, the time due, or the end of ctx.
func idle(ctx context.Context, wake <-chan struct{}, due time.Time) {
	var timer <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-wake:
	case <-timer:
	case <-ctx.Done():
	}
}

// deliver makes one attempt to deliver a notice.
func (s *Sender) deliver(ctx context.Context, of *receiver, e *entry) {
	switch err := s.send(ctx, &e.Notice); {
	case err == nil:
		for i, t := range Types() {
			if t == e.Type {
				s.sent[i].Add(1)
			}
		}
		s.worked()
		s.Board.done(of, e)
	case ctx.Err() != nil: // it waits for the next start
	case errors.Is(err, errRefused):
		s.refused.Add(1)
		s.Log.Warn("a notice is lost", "receiver", s.Name, "notice", e.ID, "error", err.Error())
		s.Board.done(of, e)
	default:
		s.failed.Add(1)
		s.fails(err)
		s.Board.again(of, e, time.Now().Add(pause(e.tries, err)))
	}
}

// fails logs the first failure of several.
func (s *Sender) fails(err error) {
	if !s.troubled.Swap(true) {
		s.Log.Warn("notices wait", "receiver", s.Name, "error", err.Error())
	}
}

// worked logs the first success after a failure.
func (s *Sender) worked() {
	if s.troubled.Swap(false) {
		s.Log.Info("notices go out again", "receiver", s.Name)
	}
}

// pause returns the pause after an attempt.
func pause(tries int, err error) time.Duration {
	out := longestPause
	if tries < 16 {
		out = min(longestPause, firstPause<<(tries-1))
	}
	var later *laterError
	if errors.As(err, &later) {
		out = min(longestPause, max(out, later.pause))
	}
	return out
}

// send delivers one notice.
func (s *Sender) send(ctx context.Context, n *Notice) error {
	to, token, err := s.target()
	if err != nil {
		return err
	}
	o := s.origin(token)
	body, contentType, err := encode(s.Format, s.completed(ctx, n), o)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return s.post(ctx, to, token, contentType, body)
}

// completed returns a notice with its cause as the trace shows it by now.
func (s *Sender) completed(ctx context.Context, n *Notice) *Notice {
	if s.Cause == nil || n.Cause == nil {
		return n
	}
	out := *n
	out.Cause = cleaned(s.Cause(ctx, *n.Cause))
	if n.Type == Worse && out.Cause.Object != nil {
		out.Object = out.Cause.Object
	}
	return &out
}

func (s *Sender) origin(token string) *origin {
	o := &origin{cluster: s.Cluster, page: s.Page}
	if s.Format == PagerDuty {
		o.key = token
	}
	return o
}

// post makes one request.
func (s *Sender) post(ctx context.Context, to, token, contentType string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return redacted(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "lifeline")
	if token != "" && s.Format != PagerDuty {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return redacted(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	return accepted(answer)
}

// accepted returns the error of an answer. Some refusals pass when their cause is mended.
func accepted(answer *http.Response) error {
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 3, code/100 == 5, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests,
		code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		seconds = max(0, min(seconds, int(longestPause/time.Second)))
		return &laterError{fmt.Errorf("the receiver answered %d", code), time.Duration(seconds) * time.Second}
	default:
		return fmt.Errorf("%w: it answered %d", errRefused, code)
	}
}
