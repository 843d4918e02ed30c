// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxBatch limits the spans of one request.
	maxBatch = 512
	// maxBytes limits the size of a request to half of a gRPC server's default limit.
	maxBytes = 2 << 20
)

// sender uploads to one backend, one request at a time, for Exporter and Outbox. It is not safe for
// concurrent use.
type sender struct {
	opts   Options
	target target
	client otlptrace.Client
	// pause is the wait after the next failed attempt.
	pause time.Duration
	// warned: the warning about an unreachable backend was sent.
	warned bool
}

// answer is the result of an attempt.
type answer struct {
	verdict
	// spans is the number of spans in the request, and bytes its size before compression.
	spans, bytes int
}

// newSender creates the client for the destination in o or the environment. It returns nil if there
// is none.
func newSender(ctx context.Context, o Options) (*sender, error) {
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	to, err := resolve(o)
	if err != nil || to == nil {
		return nil, err
	}
	if err := checkEnvironment(to); err != nil {
		return nil, err
	}
	client := to.client()
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("cannot send spans to %s (%s): %w", to.name, to.origin, err)
	}
	return &sender{opts: o, target: *to, client: client, pause: firstPause}, nil
}

// stop closes the connection. No request may be in progress.
func (s *sender) stop(ctx context.Context) error {
	if err := s.client.Stop(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("cannot close the connection to %s: %w", s.target.name, err)
	}
	return nil
}

// attempt uploads the first of spans, as many as fit into one request. It warns once when the
// backend becomes unreachable.
func (s *sender) attempt(ctx context.Context, spans []*span.Span) answer {
	request, out := s.pack(spans)
	out.verdict = judge(s.client.UploadTraces(ctx, request))
	switch {
	case !out.again:
		s.pause, s.warned = firstPause, false
	case !s.warned && ctx.Err() == nil: // not a failure by cancellation
		s.warned = true
		s.opts.Warn("cannot send spans to %s (%s) yet: %v", s.target.name, s.target.origin, out.reason)
	}
	return out
}

// pack builds a request from the first of spans.
func (s *sender) pack(spans []*span.Span) ([]*tracepb.ResourceSpans, answer) {
	spans = spans[:min(len(spans), maxBatch)]
	if !s.opts.Text {
		spans = strict(spans)
	}
	for {
		request := span.ToOTLP([]*span.Trace{{Spans: spans}}, s.opts.Cluster)
		size := proto.Size(&tracepb.TracesData{ResourceSpans: request})
		if len(spans) <= 1 || size <= maxBytes {
			return request, answer{spans: len(spans), bytes: size}
		}
		spans = spans[:len(spans)/2]
	}
}

// refusedSpans returns the number of spans that the backend refused.
func (a *answer) refusedSpans() int {
	if a.refused < 0 {
		return a.spans
	}
	return min(a.refused, a.spans)
}

// warnRefused warns about a new reason for refused spans.
func (s *sender) warnRefused(a answer) {
	s.opts.Warn("%s (%s) refused %d of %d spans: %v", s.target.name, s.target.origin, a.refusedSpans(), a.spans,
		a.reason)
}

// rest pauses after a failed attempt, longer each time. Closing ends the pause and shortens the
// later ones, to use the remaining time.
func (s *sender) rest(ctx context.Context, closing <-chan struct{}) {
	pause := s.pause
	s.pause = min(2*pause, maxPause)
	select {
	case <-closing:
		closing, pause = nil, min(pause, firstPause)
	default:
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closing:
	}
}
