// SPDX-License-Identifier: Apache-2.0

// Package admitter runs the admission webhook in a server. Package admission decides by the current
// configuration, source/admission answers the API server, and this package counts and logs the
// results.
//
// It does not depend on the rest of a server. During its start and stop, or without it, open
// reconciliations are unknown and fewer contexts are given. This never refuses a request.
package admitter

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/admission"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/listen"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	source "github.com/kube-lifeline/lifeline/app/internal/source/admission"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// Options configure an Admitter. All but Open are required. The functions are called concurrently,
// and must not block.
type Options struct {
	// Config returns the current configuration.
	Config func() config.WebhookConfiguration
	// Sample reports whether a trace that begins at admission is sampled.
	Sample func(trace.TraceID) bool
	// Open returns the context of an object's open reconciliation in a namespace, if there is one.
	// A nil Open means that none is known.
	Open func(namespace string, uid types.UID) (trace.SpanContext, bool)

	Metrics *telemetry.Metrics
	Log     *slog.Logger
}

// Admitter answers admission reviews.
type Admitter struct {
	opts    Options
	webhook *source.Webhook
	seldom  telemetry.Seldom
	// away counts connections rejected for lack of room.
	away atomic.Uint64
}

// New returns an Admitter.
func New(o Options) *Admitter {
	a := &Admitter{opts: o, seldom: telemetry.Seldom{Log: o.Log}}
	decider := admission.New(admission.Options{
		Convention: o.Config().ContextConvention(), Trusts: a.trusts, Open: o.Open, Sample: o.Sample,
	})
	a.webhook = source.New(source.Options{
		// The machine's real clock: other machines compare the claims' times with their clocks.
		Decide: decider.Decide, Now: time.Now,
		Answered: a.answered, Failed: a.failed,
		Took: func(d time.Duration) { o.Metrics.AdmissionSeconds.Observe(d.Seconds()) },
	})
	return a
}

// Listen starts listening, for Serve.
func (a *Admitter) Listen(ctx context.Context, e listen.Endpoint) (net.Listener, error) {
	return source.Listen(ctx, e, a.opts.Log, a.turnedAway)
}

// Serve answers reviews on ln until ctx ends and open requests are answered. If ln fails, it
// returns earlier with an error. It closes ln.
func (a *Admitter) Serve(ctx context.Context, ln net.Listener) error {
	return a.webhook.Serve(ctx, ln,
		log.New(a.seldom.Writer("a client of the admission webhook was not understood"), "", 0))
}

// Refresh updates the metrics.
func (a *Admitter) Refresh() {
	st, m := a.webhook.Stats(), a.opts.Metrics
	m.AdmissionReviews.Raise(float64(st.Reviews))
	m.AdmissionRefused.Raise(float64(st.Refused))
	m.AdmissionMalformed.Raise(float64(st.Malformed))
	m.AdmissionBusy.Raise(float64(st.Busy + a.away.Load()))
	m.AdmissionFailed.Raise(float64(st.Failed))
}

// trusts reports whether a user may supply a context. The control plane may: it copies admitted
// contexts, and would write them again if they were replaced.
func (a *Admitter) trusts(u admission.User) bool {
	return u.IsControlPlane() || a.opts.Config().Supplies(u.Groups)
}

// unknown is the evidence of a context without a known cause.
const unknown = "none"

func (a *Admitter) answered(r *admission.Request, answer admission.Answer) {
	if answer.Context.IsValid() {
		evidence := string(answer.Evidence)
		if evidence == "" {
			evidence = unknown
		}
		a.opts.Metrics.AdmissionContexts.Inc(evidence)
	}
	if answer.Refused.IsValid() {
		a.seldom.Say(slog.LevelWarn, "a context was replaced: its writer may not supply one (webhook.suppliers)",
			text("user", r.User.Name), text("kind", r.Kind.Kind), text("group", r.Kind.Group),
			text("namespace", r.Namespace), text("name", r.Name),
			slog.String("trace", answer.Refused.TraceID().String()))
	}
}

func (a *Admitter) failed(fault any, stack []byte) {
	a.seldom.Say(slog.LevelError, "an admission review met a bug and was answered without a context; please report it",
		text("error", fmt.Sprint(fault)), slog.String("stack", string(stack[:min(len(stack), maxStack)])))
}

// maxStack limits a logged stack, in bytes.
const maxStack = 4 << 10

func (a *Admitter) turnedAway() {
	a.away.Add(1)
	a.seldom.Say(slog.LevelWarn,
		"connections to the admission webhook are closed: there are too many at a time; let nobody but API servers "+
			"reach it")
}

// text makes text from a cluster a part of a log line.
func text(key, value string) slog.Attr { return slog.String(key, object.Bound(value)) }
