// SPDX-License-Identifier: Apache-2.0

// Package serving runs the admission webhook inside a server: package decision chooses contexts by
// the current configuration, package review answers the API server, and this package counts and
// logs the results.
//
// It does not depend on the rest of a server. During its start and stop, or without it, open
// reconciliations are unknown and fewer contexts are given. This never refuses a request.
package serving

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/decision"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/review"
)

// Options configure an Server. All but Open are required. The functions are called concurrently,
// and must not block.
type Options struct {
	// Config returns the current configuration.
	Config func() config.WebhookConfiguration
	// Sample reports whether a trace that begins at admission is sampled.
	Sample func(trace.TraceID) bool
	// Open returns the context of an object's open reconciliation in a namespace, if there is one.
	// A nil Open means that none is known.
	Open func(namespace string, uid types.UID) (trace.SpanContext, bool)

	// Registerer gets the metrics.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Server answers admission reviews.
type Server struct {
	opts    Options
	metrics *metrics
	webhook *review.Handler
	seldom  telemetry.Seldom
	// away counts connections rejected for lack of room.
	away atomic.Uint64
}

// New returns a Server.
func New(o Options) *Server {
	s := &Server{opts: o, seldom: telemetry.Seldom{Log: o.Log}}
	s.metrics = newMetrics(o.Registerer, s.stats)
	decider := decision.New(decision.Options{
		Convention: o.Config().ContextConvention(), Trusts: s.trusts, Open: o.Open, Sample: o.Sample,
	})
	s.webhook = review.New(review.Options{
		// The machine's real clock: other machines compare the claims' times with their clocks.
		Decide: decider.Decide, Now: time.Now,
		Answered: s.answered, Failed: s.failed,
		Took: func(d time.Duration) { s.metrics.seconds.Observe(d.Seconds()) },
	})
	return s
}

// Listen starts listening, for Serve.
func (s *Server) Listen(ctx context.Context, e httpserve.Endpoint) (net.Listener, error) {
	return review.Listen(ctx, e, s.opts.Log, s.turnedAway)
}

// Serve answers reviews on ln until ctx ends and open requests are answered. If ln fails, it
// returns earlier with an error. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.webhook.Serve(ctx, ln,
		log.New(s.seldom.Writer("a client of the admission webhook was not understood"), "", 0))
}

// stats returns the counts of the handler, and of connections without room.
func (s *Server) stats() review.Stats {
	st := s.webhook.Stats()
	st.Busy += s.away.Load()
	return st
}

// trusts reports whether a user may supply a context. The control plane may: it copies admitted
// contexts, and would write them again if they were replaced.
func (s *Server) trusts(u decision.User) bool {
	return u.IsControlPlane() || s.opts.Config().Supplies(u.Groups)
}

// unknown is the evidence of a context without a known cause.
const unknown = "none"

func (s *Server) answered(r *decision.Request, answer decision.Answer) {
	if answer.Context.IsValid() {
		evidence := string(answer.Evidence)
		if evidence == "" {
			evidence = unknown
		}
		s.metrics.contexts.WithLabelValues(evidence).Inc()
	}
	if answer.Refused.IsValid() {
		s.seldom.Say(slog.LevelWarn, "a context was replaced: its writer may not supply one (webhook.suppliers)",
			text("user", r.User.Name), text("kind", r.Kind.Kind), text("group", r.Kind.Group),
			text("namespace", r.Namespace), text("name", r.Name),
			slog.String("trace", answer.Refused.TraceID().String()))
	}
}

func (s *Server) failed(fault any, stack []byte) {
	s.seldom.Say(slog.LevelError, "an admission review met a bug and was answered without a context; please report it",
		text("error", fmt.Sprint(fault)), slog.String("stack", string(stack[:min(len(stack), maxStack)])))
}

// maxStack limits a logged stack, in bytes.
const maxStack = 4 << 10

func (s *Server) turnedAway() {
	s.away.Add(1)
	s.seldom.Say(slog.LevelWarn,
		"connections to the admission webhook are closed: there are too many at a time; let only API servers "+
			"reach it")
}

// text makes text from a cluster a part of a log line.
func text(key, value string) slog.Attr { return slog.String(key, object.Bound(value)) }
