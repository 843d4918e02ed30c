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
	// maxBatch is how many spans go in one request.
	maxBatch = 512
	// maxBytes is how large a request may be: half of what a gRPC server
	// accepts by default.
	maxBytes = 2 << 20
)

// sender uploads to one backend, a request at a time: what Exporter and Outbox
// have in common. Only one goroutine may use it.
type sender struct {
	opts   Options
	target target
	client otlptrace.Client
	// pause comes after the next attempt that fails.
	pause time.Duration
	// warned: that the backend cannot be reached was told.
	warned bool
}

// answer is what became of an attempt.
type answer struct {
	verdict
	// spans is how many went in the request, and bytes how large it was
	// before compression.
	spans, bytes int
}

// newSender makes the client for the place that o or the environment names; nil
// if neither does.
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

// stop closes the connection. Nothing may be under way any more.
func (s *sender) stop(ctx context.Context) error {
	if err := s.client.Stop(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("cannot close the connection to %s: %w", s.target.name, err)
	}
	return nil
}

// attempt uploads the first of spans, as many as go in one request. It warns
// when the backend cannot be reached, once until it can.
func (s *sender) attempt(ctx context.Context, spans []*span.Span) answer {
	request, out := s.pack(spans)
	out.verdict = judge(s.client.UploadTraces(ctx, request))
	switch {
	case !out.again:
		s.pause, s.warned = firstPause, false
	case !s.warned && ctx.Err() == nil: // and it did not fail because it was ended
		s.warned = true
		s.opts.Warn("cannot send spans to %s (%s) yet: %v", s.target.name, s.target.origin, out.reason)
	}
	return out
}

// pack makes a request of the first of spans.
func (s *sender) pack(spans []*span.Span) ([]*tracepb.ResourceSpans, answer) {
	spans = spans[:min(len(spans), maxBatch)]
	for {
		request := span.ToOTLP([]*span.Trace{{Spans: spans}}, s.opts.Cluster)
		size := proto.Size(&tracepb.TracesData{ResourceSpans: request})
		if len(spans) <= 1 || size <= maxBytes {
			return request, answer{spans: len(spans), bytes: size}
		}
		spans = spans[:len(spans)/2]
	}
}

// refusedSpans is how many spans of the request the backend has refused.
func (a *answer) refusedSpans() int {
	if a.refused < 0 {
		return a.spans
	}
	return min(a.refused, a.spans)
}

// warnRefused tells a new reason for which spans were refused.
func (s *sender) warnRefused(a answer) {
	s.opts.Warn("%s (%s) refused %d of %d spans: %v", s.target.name, s.target.origin, a.refusedSpans(), a.spans,
		a.reason)
}

// rest pauses after an attempt that failed, longer each time. Closing cuts the
// pause short and bounds those after it, so that what little time is left is
// used.
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
