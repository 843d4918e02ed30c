// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Sink accepts the spans of a Receiver.
type Sink interface {
	// Accept takes ownership of the spans of one request. Each span has an Origin, valid IDs, a
	// start and an end, and bounded texts. Calls are concurrent.
	//
	// An error means that no span was accepted, for lack of room for example. The sender gets a
	// retryable status, without the text of the error. Accept may wait for room until ctx ends.
	Accept(ctx context.Context, spans []*span.Span) error
}

// SinkFunc is a function that implements Sink.
type SinkFunc func(ctx context.Context, spans []*span.Span) error

// Accept calls f.
func (f SinkFunc) Accept(ctx context.Context, spans []*span.Span) error { return f(ctx, spans) }
