// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
)

const (
	// maxHead is the part of a body that is read before the request takes its turn. Senders of a
	// few bytes now and then do not get that far.
	maxHead = 64 << 10
	// maxKept is the largest buffer that returns to the pool.
	maxKept = 1 << 20
)

// buffer holds a body or its beginning. free returns it to the pool.
type buffer struct{ bytes.Buffer }

var (
	buffers   = sync.Pool{New: func() any { return new(buffer) }}
	unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

func (b *buffer) free() {
	if b.Cap() <= maxKept {
		b.Reset()
		buffers.Put(b)
	}
}

// opening returns the message in a body and whether it is compressed.
type opening func(body io.Reader) (message io.Reader, packed bool, err error)

// read reads a request within Options.Timeout and passes it to take. It waits for a turn only after
// the first maxHead bytes, or all of a smaller body, have arrived. So a sender that stalls takes no
// turn.
func (r *Receiver) read(
	w http.ResponseWriter, req *http.Request, how transport, open opening,
) (answer *coltracepb.ExportTraceServiceResponse, no *refusal) {
	ctx, cancel := context.WithTimeout(req.Context(), r.opts.Timeout)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	limit := int64(r.opts.MaxBytes)
	if how == overGRPC {
		limit += prefix
	}
	body := http.MaxBytesReader(w, req.Body, limit)
	head := buffers.Get().(*buffer)
	defer head.free()
	if _, err := head.ReadFrom(io.LimitReader(body, maxHead)); err != nil {
		return nil, refuseError(bodyError(err))
	}
	message, packed, err := open(io.MultiReader(head, body))
	if err != nil {
		return nil, refuseError(err)
	}
	done, no := r.turn(ctx)
	if no != nil {
		return nil, no
	}
	defer done()
	in, err := r.unpacked(message, packed)
	if err != nil {
		return nil, refuseError(err)
	}
	defer in.free()
	return r.take(ctx, how, in.Bytes())
}

// unpacked reads a message of at most MaxBytes, decompressed.
func (r *Receiver) unpacked(in io.Reader, packed bool) (*buffer, error) {
	limit := int64(r.opts.MaxBytes)
	if packed {
		unzip := unzippers.Get().(*gzip.Reader)
		defer unzippers.Put(unzip)
		if err := unzip.Reset(in); err != nil {
			return nil, bodyError(err)
		}
		in = unzip
	}
	b := buffers.Get().(*buffer)
	n, err := b.ReadFrom(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		err = bodyError(err)
	case n > limit:
		err = fmt.Errorf("%w: the limit is %d bytes", errTooLarge, limit)
	default:
		return b, nil
	}
	b.free()
	return nil, err
}

// bodyError converts an error from reading a body.
func bodyError(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fmt.Errorf("%w: the limit is %d bytes", errTooLarge, large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTooSlow
	}
	return fmt.Errorf("%w: cannot read its body: %w", errMalformed, err)
}
