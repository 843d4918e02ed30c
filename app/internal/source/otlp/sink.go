// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Sink takes what a Receiver has received.
type Sink interface {
	// Accept takes the spans of one request, which are the Sink's from then on:
	// each has an Origin, valid IDs, a start and an end, and bounded texts.
	// It is called by several goroutines at a time.
	//
	// An error means that none was taken, for lack of room, say: the sender is
	// asked to send all of them again. It is not shown to the sender. Accept
	// may wait for room, but not beyond ctx.
	Accept(ctx context.Context, spans []*span.Span) error
}

// SinkFunc is a function that is a Sink.
type SinkFunc func(ctx context.Context, spans []*span.Span) error

// Accept calls f.
func (f SinkFunc) Accept(ctx context.Context, spans []*span.Span) error { return f(ctx, spans) }
