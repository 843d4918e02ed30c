// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
)

// spread limits the memory of the decoded spans, as a multiple of the body's size. Real requests
// take two to three times.
const spread = 4

// patience limits the wait for a turn, and again the wait for the sink. After that a retry is
// better. The default is below the 5 s timeout of a Collector, so that the Collector receives the
// reason.
func (r *Receiver) patience() time.Duration { return r.opts.Timeout * 2 / 5 }

// turn waits for a free slot, at most for patience. The caller calls done at the end of the
// request.
func (r *Receiver) turn(ctx context.Context) (done func(), no *refusal) {
	select {
	case r.turns <- struct{}{}:
		return r.endTurn, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	select {
	case r.turns <- struct{}{}:
		return r.endTurn, nil
	case <-ctx.Done():
		return nil, r.refuseBusy()
	}
}

func (r *Receiver) endTurn() { <-r.turns }

// take decodes a body, passes its spans to the sink, and returns the response.
func (r *Receiver) take(
	ctx context.Context, how transport, body []byte,
) (answer *coltracepb.ExportTraceServiceResponse, no *refusal) {
	b := newBatch(r.opts.Clock, spread*r.opts.MaxBytes)
	read := b.readProto
	if how == overHTTPJSON {
		read = func(body []byte) error { return r.takeJSON(b, body) }
	}
	if err := read(body); err != nil {
		return nil, refuseError(err)
	}
	if len(b.spans) > 0 {
		ctx, cancel := context.WithTimeout(ctx, r.patience())
		defer cancel()
		if err := r.opts.Sink.Accept(ctx, b.spans); err != nil {
			r.opts.Log.Debug(
				"the sink refused spans; their sender will retry", "spans", len(b.spans), "error",
				err.Error(),
			)
			return nil, r.refuseFull()
		}
	}
	r.counters.took(how, len(body), b)
	return b.answer(), nil
}

// answer returns the response. It has the number of rejected spans and the fault of the first.
func (b *batch) answer() *coltracepb.ExportTraceServiceResponse {
	out := &coltracepb.ExportTraceServiceResponse{}
	n := int64(b.rejected[rejectedID] + b.rejected[rejectedTime])
	if n == 0 {
		return out
	}
	var why []string
	for i, words := range [rejections]string{"with invalid IDs", "with impossible times"} {
		if count := b.rejected[i]; count > 0 {
			why = append(why, fmt.Sprintf("%d %s", count, words))
		}
	}
	out.PartialSuccess = &coltracepb.ExportTracePartialSuccess{
		RejectedSpans: n,
		ErrorMessage: fmt.Sprintf("rejected %s of %d spans; the first: %s",
			strings.Join(why, " and "), len(b.spans)+int(n), b.complaint),
	}
	return out
}

// recovered turns a panic into a refusal. It is deferred at the start of a request.
func (r *Receiver) recovered(no **refusal) {
	if p := recover(); p != nil {
		r.opts.Log.Error("the OTLP receiver met a bug; please report it",
			"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*no = refuseBug()
	}
}
