// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// answerTime bounds one request.
	answerTime = 30 * time.Second
	// maxAnswer bounds the read part of an answer.
	maxAnswer = 64 << 10
	// firstPause and longestPause are the pauses after a failed delivery; each is twice the one before.
	firstPause, longestPause = time.Second, 5 * time.Minute
)

// Sender delivers the notices of a Board to a webhook, one after the other, at least once. Set the
// fields before Run.
type Sender struct {
	Board *Board
	// URL is the webhook, and TokenFile a file with its bearer token; empty for none. It is read for each
	// request.
	URL, TokenFile string
	// Cluster is the cluster's UID.
	Cluster string
	// Leads reports whether this server delivers. Notices of another one wait.
	Leads func() bool
	// Warn logs a failed delivery.
	Warn func(msg string, args ...any)

	client          http.Client
	sent            [3]atomic.Int64
	refused, failed atomic.Int64
}

// Stats are counts since the start.
type Stats struct {
	// Sent are the delivered notices by type.
	Sent map[Type]int64
	// Refused counts the notices that the webhook has refused for good, Dropped those beyond the bound,
	// and Waiting the pending ones. Failures counts failed attempts.
	Refused, Dropped, Failures int64
	Waiting                    int
}

// Stats returns the counts. A nil Sender has none.
func (s *Sender) Stats() Stats {
	out := Stats{Sent: map[Type]int64{}}
	if s == nil {
		return out
	}
	for i, t := range Types() {
		out.Sent[t] = s.sent[i].Load()
	}
	out.Refused, out.Failures = s.refused.Load(), s.failed.Load()
	out.Waiting, out.Dropped = s.Board.Waiting()
	return out
}

// errRefused is a permanent refusal.
var errRefused = errors.New("the webhook refuses the notice")

// Run delivers until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	// A redirect could lead the token elsewhere.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	backoff := newBackoff()
	for ctx.Err() == nil {
		n, ok := s.Board.Next()
		if !ok || !s.Leads() {
			select {
			case <-s.Board.wake: // by each stored look
			case <-ctx.Done():
			}
			continue
		}
		switch err := s.send(ctx, &n); {
		case err == nil:
			for i, t := range Types() {
				if t == n.Type {
					s.sent[i].Add(1)
				}
			}
			s.Board.Done(n)
			backoff = newBackoff()
		case errors.Is(err, errRefused):
			s.refused.Add(1)
			s.Warn("a notice is lost", "webhook", Redacted(s.URL), "notice", n.ID, "error", err.Error())
			s.Board.Done(n)
		case ctx.Err() == nil:
			pause := backoff.Step()
			s.failed.Add(1)
			s.Warn("a notice waits", "webhook", Redacted(s.URL), "notice", n.ID, "error", err.Error(),
				"again in", pause.Round(time.Second).String())
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: firstPause, Factor: 2, Steps: 64, Cap: longestPause, Jitter: 0.1}
}

// send delivers one notice.
func (s *Sender) send(ctx context.Context, n *Notice) error {
	body, err := n.Event(s.Cluster)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return redacted(err)
	}
	r.Header.Set("Content-Type", "application/cloudevents+json; charset=UTF-8")
	r.Header.Set("User-Agent", "lifeline")
	if s.TokenFile != "" {
		token, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return fmt.Errorf("cannot read the token of the webhook (notices.tokenFile): %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return redacted(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 5, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests,
		code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound: // may be mended
		return fmt.Errorf("the webhook answered %s", answer.Status)
	default:
		return fmt.Errorf("%w: it answered %s", errRefused, answer.Status)
	}
}

// Redacted returns the scheme and the host of a webhook. The rest of its URL may be a secret.
func Redacted(webhook string) string {
	u, err := url.Parse(webhook)
	if err != nil || u.Host == "" {
		return "…"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// redacted returns the error of a request without its URL.
func redacted(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
