// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// retryAfter is Watch's pause before it connects again. maxRetries bounds the failures in a
	// row: two minutes.
	retryAfter = 2 * time.Second
	maxRetries = 60
	// silence bounds the silence of a stream, which has a heartbeat each 15 s.
	silence = time.Minute
)

// Watch yields every open trace that touches the object, then each new version, until ctx ends or
// the loop breaks. After a lost connection it yields the error and connects again. Then it yields
// the state of the formerly open traces and continues. The list has the traces that began and ended
// meanwhile. An error ends it: the first connection fails, the server is unreachable for two
// minutes, or a retry is useless by the server's answer.
func (c *Client) Watch(ctx context.Context, o object.Ref) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := &watch{client: c, query: objectValues(o), yield: yield, open: map[trace.TraceID]bool{}}
		for {
			err := w.connection(ctx)
			switch {
			case errors.Is(err, errBreak):
				return
			case ctx.Err() != nil:
				yield(Event{}, ctx.Err())
				return
			case !w.connected, w.failures >= maxRetries, useless(err):
				yield(Event{}, err)
				return
			}
			if w.failures++; w.failures == 1 && !yield(Event{Lost: err}, nil) {
				return
			}
			if !wait(ctx, c.pause) {
				yield(Event{}, ctx.Err())
				return
			}
		}
	}
}

// errBreak marks a loop that the caller left.
var errBreak = errors.New("the loop was left")

// useless reports an error that a retry cannot solve.
func useless(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.Code < http.StatusInternalServerError &&
		answer.Code != http.StatusTooManyRequests
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// watch is one call of Watch, over all its connections.
type watch struct {
	client    *Client
	query     url.Values
	yield     func(Event, error) bool
	connected bool
	failures  int
	// open are the open traces of the last events.
	open map[trace.TraceID]bool
	// before are the open traces at the loss of the connection, until their state is known; nil
	// after that.
	before map[trace.TraceID]bool
}

// connection connects and yields events until an error.
func (w *watch) connection(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ask := w.client.ask
	if w.connected { // Watch waits itself
		ask = w.client.askOnce
	}
	res, err := ask(ctx, "watch", w.query, "text/event-stream")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	w.connected = true
	w.before = maps.Clone(w.open)
	watchdog := time.AfterFunc(
		silence,
		func() { cancel(fmt.Errorf("%s sent nothing for %s", w.client.Server(), silence)) },
	)
	defer watchdog.Stop()
	in := newReader(res.Body, func() { watchdog.Reset(silence) })
	for {
		name, data, err := in.next()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("the stream of %s ended: %w", w.client.Server(), err)
		}
		watchdog.Stop() // the consumer's time does not count
		if err := w.event(ctx, name, data); err != nil {
			return err
		}
		watchdog.Reset(silence)
	}
}

// event handles one event. Unknown names belong to later versions.
func (w *watch) event(ctx context.Context, name string, data []byte) error {
	switch name {
	case api.EventTrace:
		t, err := decode(data)
		if err != nil {
			return w.client.strange(err)
		}
		return w.report(t)
	case api.EventWithdrawn:
		var answer api.Withdrawn
		if err := json.Unmarshal(data, &answer); err != nil {
			return w.client.strange(err)
		}
		id, err := traceID(answer.TraceID)
		if err != nil {
			return w.client.strange(err)
		}
		return w.withdraw(id)
	case api.EventAmended:
		var s api.Summary
		if err := json.Unmarshal(data, &s); err != nil {
			return w.client.strange(err)
		}
		return w.hand(Event{Amended: &s})
	case api.EventSynced:
		w.failures = 0
		if err := w.catchUp(ctx); err != nil {
			return err
		}
		return w.hand(Event{Synced: true})
	}
	return nil
}

// catchUp yields the state of traces that are not open any more.
func (w *watch) catchUp(ctx context.Context) error {
	missed := slices.SortedFunc(maps.Keys(w.before), func(a, b trace.TraceID) int { return slices.Compare(a[:], b[:]) })
	w.before = nil
	for _, id := range missed {
		t, err := w.client.Trace(ctx, id.String())
		var answer *api.Error
		switch {
		case err == nil:
			err = w.report(t)
		case errors.As(err, &answer) && answer.Code == http.StatusNotFound:
			err = w.withdraw(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) report(t *Trace) error {
	delete(w.before, t.Trace.ID)
	if delete(w.open, t.Trace.ID); t.Summary.Open {
		w.open[t.Trace.ID] = true
	}
	return w.hand(Event{Trace: t})
}

func (w *watch) withdraw(id trace.TraceID) error {
	delete(w.before, id)
	delete(w.open, id)
	return w.hand(Event{Withdrawn: id})
}

func (w *watch) hand(e Event) error {
	if !w.yield(e, nil) {
		return errBreak
	}
	return nil
}
