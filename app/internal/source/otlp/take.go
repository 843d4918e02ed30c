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

// spread is how many times the size of a body its spans may take. Real ones take
// two to three.
const spread = 4

// patience is for how long a request waits for its turn, and then for the sink:
// whoever waited that long is better off coming again. By default that is less than
// the 5 s after which a Collector gives up, and would not learn why.
func (r *Receiver) patience() time.Duration { return r.opts.Timeout * 2 / 5 }

// turn waits until the request may go on, within patience. It returns what ends the
// turn.
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

// take decodes a body, gives its spans to the sink, and returns the answer.
func (r *Receiver) take(
	ctx context.Context,
	how transport,
	body []byte,
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
			r.opts.Log.Debug("spans are not taken at the moment", "spans", len(b.spans), "error", err.Error())
			return nil, r.refuseFull()
		}
	}
	r.counters.took(how, len(body), b)
	return b.answer(), nil
}

// answer says how many spans were rejected, and what was wrong with the first.
func (b *batch) answer() *coltracepb.ExportTraceServiceResponse {
	out := &coltracepb.ExportTraceServiceResponse{}
	n := int64(b.rejected[rejectedID] + b.rejected[rejectedTime])
	if n == 0 {
		return out
	}
	var why []string
	for i, words := range [rejections]string{"with IDs that are not valid", "with times that cannot be"} {
		if count := b.rejected[i]; count > 0 {
			why = append(why, fmt.Sprintf("%d %s", count, words))
		}
	}
	out.PartialSuccess = &coltracepb.ExportTracePartialSuccess{
		RejectedSpans: n,
		ErrorMessage: fmt.Sprintf(
			"rejected %s of %d spans; the first: %s",
			strings.Join(why, " and "),
			len(b.spans)+int(n),
			b.complaint,
		),
	}
	return out
}

// recovered makes a refusal of a panic. It is deferred where a request begins.
func (r *Receiver) recovered(no **refusal) {
	if p := recover(); p != nil {
		r.opts.Log.Error(
			"the OTLP receiver met a bug; please report it",
			"panic",
			fmt.Sprint(p),
			"stack",
			string(debug.Stack()),
		)
		*no = refuseBug()
	}
}
