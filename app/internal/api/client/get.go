// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
)

const (
	connectTimeout = 5 * time.Second
	// answerTimeout bounds the wait for an answer; a server takes 30 s at most.
	answerTimeout = 40 * time.Second
	// maxAnswer bounds an answer or an event, in bytes: about 100,000 spans.
	maxAnswer = 128 << 20
)

// ErrNoServer means that no server answers at the URL.
var ErrNoServer = errors.New("no server answers")

func (c *Client) json(ctx context.Context, path string, v url.Values, out any) error {
	doc, err := c.get(ctx, path, v)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(doc, out); err != nil {
		return c.strange(err)
	}
	return nil
}

// get returns the whole body of an answer in JSON.
func (c *Client) get(ctx context.Context, path string, v url.Values) ([]byte, error) {
	return c.body(ctx, path, v, "application/json")
}

// body returns the whole body of an answer of that type.
func (c *Client) body(ctx context.Context, path string, v url.Values, kind string) ([]byte, error) {
	res, err := c.ask(ctx, path, v, kind)
	if err != nil {
		return nil, err
	}
	return c.read(res)
}

// read returns the whole body of an answer, and closes it.
func (c *Client) read(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s ended early: %w", c.Server(), err)
	case len(doc) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s has more than %d MiB: ask for less", c.Server(), maxAnswer>>20)
	}
	return doc, nil
}

// ask returns an answer of that type with status 200. It waits for a server that is not ready. Its
// errors contain the next step; an *api.Error is the server's own.
func (c *Client) ask(ctx context.Context, path string, v url.Values, kind string) (*http.Response, error) {
	began, waited := time.Now(), time.Duration(0)
	for {
		res, err := c.askOnce(ctx, path, v, kind)
		var later *notReadyError
		if !errors.As(err, &later) || max(waited, time.Since(began))+later.after > c.Patience ||
			overdue(ctx, later.after) {
			return res, err
		}
		if !c.wait(ctx, later.after) {
			return nil, ctx.Err()
		}
		waited += later.after
	}
}

// overdue reports whether ctx ends before a pause is over.
func overdue(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < pause
}

// notReadyError is an answer that asks for another attempt after a pause.
type notReadyError struct {
	answer *api.Error
	after  time.Duration
}

// Error and Unwrap return the server's own error.
func (e *notReadyError) Error() string { return e.answer.Error() }
func (e *notReadyError) Unwrap() error { return e.answer }

// NotReady reports whether err is a server's request for another attempt: it has just started, is
// at a limit, or cannot use its archive.
func NotReady(err error) bool {
	var later *notReadyError
	return errors.As(err, &later)
}

// pauseOf returns the pause that an answer asks for; 0 if it asks for none.
func pauseOf(res *http.Response) time.Duration {
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	busy := res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests
	if err != nil || !busy {
		return 0
	}
	return time.Duration(min(max(seconds, 1), 3600)) * time.Second
}

// askOnce is ask without waiting.
func (c *Client) askOnce(ctx context.Context, path string, v url.Values, kind string) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodGet, path, v, nil)
	if err != nil {
		return nil, err
	}
	return c.do(req, kind)
}

func (c *Client) request(
	ctx context.Context, method, path string, v url.Values, body io.Reader,
) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.location(path, v).String(), body)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", c.Server(), err)
	}
	if err := c.access.authorize(req); err != nil {
		return nil, err
	}
	return req, nil
}

// do sends a request, as ask does.
func (c *Client) do(req *http.Request, kind string) (*http.Response, error) {
	req.Header.Set("Accept", kind)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(req.Context(), err)
	}
	got, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if res.StatusCode == http.StatusOK && got == kind {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.answered(res, kind)
}

// strange is the error for an answer of another program.
func (c *Client) strange(err error) error {
	return fmt.Errorf(
		"the program at %s is not lifeline serve, or has another version: name another with --server, or run "+
			"lifeline version there: %w",
		c.Server(),
		err,
	)
}

// Announce sends the announcement of a command. An *api.Error is the server's rejection.
func (c *Client) Announce(ctx context.Context, a *announcement.Announcement) error {
	doc, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("cannot announce the command to %s: %w", c.Server(), err)
	}
	req, err := c.request(ctx, http.MethodPost, "runs", nil, bytes.NewReader(doc))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.do(req, "application/json")
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody)) // for the next request on the connection
	return res.Body.Close()
}

// maxBody limits an unused response, in bytes.
const maxBody = 64 << 10
