// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// receives reports whether the configuration has a receiver for other components.
func receives(c *config.ServerConfiguration) bool {
	return receivesSpans(c) || receivesAudit(c)
}

func receivesSpans(c *config.ServerConfiguration) bool {
	return c.Receivers.OTLP.GRPC.Address != "" || c.Receivers.OTLP.HTTP.Address != ""
}

// newJoining returns the joining of other components' spans, if any are received. Spans without a
// change are sent on unchanged. They are sent at most once, since they are not stored.
func (s *server) newJoining(ctx context.Context) (*joining, error) {
	c := s.conf.Load()
	if !receivesSpans(c) {
		return nil, nil
	}
	o := stitch.Options{
		Mode:   stitch.Mode(c.Joining.Mode),
		Drop:   c.Joining.Unjoined == config.UnjoinedDrop,
		Window: c.Joining.Window.Duration,
		Kept:   true,
	}
	j := &joining{
		stats:     func(st joiningStats) { s.joined.Store(&st) },
		handedOut: func(traces []*span.Trace, now time.Time) { s.received.Joined(traces, now) },
	}
	if !o.Drop || o.Mode == stitch.Link {
		var err error
		s.passing, err = export.New(context.WithoutCancel(ctx), export.Options{
			Endpoint: c.OTLP.Endpoint, Setting: "otlp.endpoint", Cluster: s.cluster,
			Warn: func(format string, args ...any) { s.log.Warn(fmt.Sprintf(format, args...)) },
		})
		if err != nil {
			return nil, err
		}
		j.pass = func(traces []*span.Trace) { s.passing.Export(traces) }
	}
	j.stitch = stitch.New(o)
	return j, nil
}

// listenTo starts the receivers of other components' data. The returned function stops them.
func (s *server) listenTo(ctx context.Context, begins ...func(context.Context) (func(), error)) (end func()) {
	var ends []func()
	for _, begin := range begins {
		end, err := begin(ctx)
		if err != nil {
			s.fail(err)
			break
		}
		ends = append(ends, end)
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// receive starts the receiver of spans, if configured. The returned function stops it and waits
// until all spans are in the loop.
func (s *server) receive(ctx context.Context) (end func(), err error) {
	c := s.conf.Load()
	if !receivesSpans(c) {
		return func() {}, nil
	}
	r, err := otlp.New(ctx, otlp.Options{
		Sink: s.loop, GRPC: endpoint(c.Receivers.OTLP.GRPC), HTTP: endpoint(c.Receivers.OTLP.HTTP), Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("%w (receivers.otlp)", err)
	}
	s.receiver.Store(r)
	for what, addr := range map[string]any{"gRPC": r.GRPCAddr(), "HTTP": r.HTTPAddr()} {
		if addr != nil {
			s.log.Info("OTLP is received", "over", what, "address", fmt.Sprint(addr))
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			s.fail(fmt.Errorf("cannot receive OTLP: %w", err))
		}
	}()
	return func() { cancel(); <-done }, nil
}

func endpoint(c config.EndpointConfiguration) httpserve.Endpoint {
	return httpserve.Endpoint{
		Address: c.Address, Insecure: c.Insecure, TokenFile: c.TokenFile,
		TLS: httpserve.TLS{CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, ClientCAFile: c.TLS.ClientCAFile},
	}
}

// refreshReceived sets the metrics of the receivers.
func (s *server) refreshReceived(t *telemetry.Metrics) {
	r := s.receiver.Load()
	if r == nil {
		return
	}
	o := r.Stats()
	t.SpansReceived.Raise(float64(o.Accepted))
	for _, m := range []struct {
		total *telemetry.Total
		by    map[string]uint64
	}{
		{t.ReceiverRequests, o.Requests},
		{t.SpansRejected, o.Rejected},
		{t.ReceiverRefused, o.Refused},
		{t.SpansCut, o.Cut},
	} {
		for label, n := range m.by {
			m.total.Raise(float64(n), label)
		}
	}
	j := s.joined.Load()
	if j == nil {
		return
	}
	t.SpansJoined.Raise(float64(j.Joined), "with")
	t.SpansJoined.Raise(float64(j.Late), "after")
	for why, n := range map[string]int64{
		"noise":    j.Noise,
		"repeated": j.Repeated,
		"own":      j.Own,
		"passed":   j.Passed,
		"dropped":  j.Expired,
		"evicted":  j.Evicted,
		"surplus":  j.Surplus,
		"overdue":  j.Overdue,
		"untimely": j.Untimely,
	} {
		t.SpansUnjoined.Raise(float64(n), why)
	}
	t.SpansBuffered.Set(float64(j.Buffered))
	t.SpansBufferBytes.Set(float64(j.Bytes))
	t.CopiesBytes.Set(float64(j.CopiedBytes))
	t.SpansUncopied.Raise(float64(j.Uncopied))
}
