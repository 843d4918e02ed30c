// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/admitter"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// newAdmitter makes what answers the API server's admission calls; nil if that is
// not configured.
func (s *server) newAdmitter() *admitter.Admitter {
	if s.conf.Load().Webhook.Endpoint.Address == "" {
		return nil
	}
	return admitter.New(admitter.Options{
		Config: func() config.WebhookConfiguration { return s.conf.Load().Webhook },
		Sample: func(id trace.TraceID) bool { return s.sampling().byRatio(id) },
		Open: func(namespace string, uid types.UID) (trace.SpanContext, bool) {
			return s.opened.of(namespace, uid, time.Now())
		},

		Metrics: s.metrics, Log: s.log,
	})
}

// admit begins to answer admission calls. It is among the first to begin and the
// last to end: a write is answered whatever the server is doing, and whether it
// leads or not.
func (s *server) admit(up *tasks) error {
	if s.admitter == nil {
		return nil
	}
	ln, err := s.admitter.Listen(up.ctx, endpoint(s.conf.Load().Webhook.Endpoint))
	if err != nil {
		return fmt.Errorf("%w (webhook.endpoint)", err)
	}
	s.log.Info("admission reviews are answered", "address", ln.Addr().String())
	up.start("webhook", func(ctx context.Context) error { return s.admitter.Serve(ctx, ln) })
	return nil
}

// publishOpen is recorderOptions.Opened; nil if nobody asks.
func (s *server) publishOpen() func(iter.Seq2[object.Ref, trace.SpanContext], []*span.Trace) {
	if s.admitter == nil {
		return nil
	}
	return func(open iter.Seq2[object.Ref, trace.SpanContext], traces []*span.Trace) {
		s.opened.publish(open, traces, s.sampling(), time.Now())
	}
}

func (s *server) refreshAdmitter() {
	if s.admitter != nil {
		s.admitter.Refresh()
	}
}
