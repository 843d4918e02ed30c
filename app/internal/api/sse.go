// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// rest pauses after long work. Versions that are published meanwhile wait, only the latest of each
// trace.
func (st *stream) rest(ctx context.Context) error {
	pause := min(restFactor*st.spent, maxRest)
	if pause < minRest {
		return st.ended(ctx)
	}
	st.spent = 0
	if err := st.flush(); err != nil {
		return err
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-st.server.closing:
	case <-timer.C:
	}
	return st.ended(ctx)
}

// ended reports the end of the client or of the server.
func (st *stream) ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errEnded
	case <-st.server.closing:
		return errEnded
	default:
		return nil
	}
}

// event sends an event with data as JSON.
func (st *stream) event(name string, data any) error {
	doc, err := marshal(data)
	if err != nil {
		return err
	}
	if err := st.data(name, doc); err != nil {
		return err
	}
	return st.flush()
}

// data sends an event; doc is one line that ends in a newline.
func (st *stream) data(name string, doc []byte) error {
	for _, part := range [][]byte{[]byte("event: " + name + "\ndata: "), doc, []byte("\n")} {
		if err := st.write(part); err != nil {
			return err
		}
	}
	return nil
}

func (st *stream) send(text []byte) error {
	if err := st.write(text); err != nil {
		return err
	}
	return st.flush()
}

func (st *stream) write(b []byte) error {
	_, err := st.out.Write(b)
	return ending(err)
}

// ending returns the meaning of a write error: the client does not read, or it has disconnected.
func ending(err error) error {
	switch {
	case err == nil, errors.Is(err, http.ErrNotSupported):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return errEnded
}

// flush hands everything to the client, in time.
func (st *stream) flush() error {
	if err := st.control.SetWriteDeadline(time.Now().Add(st.server.patience)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return errEnded
	}
	return ending(st.control.Flush())
}
