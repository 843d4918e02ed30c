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
	// maxHead is how much of a body is read before the request has its turn. Who
	// sends a byte now and then does not get there.
	maxHead = 64 << 10
	// maxKept is how large a buffer may be to be used again.
	maxKept = 1 << 20
)

// buffer is a body, or its beginning. free gives it back.
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

// opening returns the message in a body, and whether it is compressed.
type opening func(body io.Reader) (message io.Reader, packed bool, err error)

// read reads a request within its time, and takes it. It waits for its turn when
// the beginning of the body is there, or all of a small one: a turn is not for
// those who do not send.
func (r *Receiver) read(
	w http.ResponseWriter,
	req *http.Request,
	how transport,
	open opening,
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
		err = fmt.Errorf("%w: it has more than %d bytes", errTooLarge, limit)
	default:
		return b, nil
	}
	b.free()
	return nil, err
}

// bodyError says what an error of reading a body means.
func bodyError(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fmt.Errorf("%w: it has more than %d bytes", errTooLarge, large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTooSlow
	}
	return fmt.Errorf("%w: cannot read its body: %w", errMalformed, err)
}
