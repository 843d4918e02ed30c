// SPDX-License-Identifier: Apache-2.0

// Package admitter is the admission webhook as a server runs it: package admission
// decides, by the configuration in effect, source/admission answers the API
// server, and what became of it is counted and logged.
//
// It needs nothing of the rest of a server. While that starts or stops, or if it
// is not there at all, nobody knows which reconciliations are open, and less
// is given; never is a call refused for it.
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

// Options are those of an Admitter. All but Open are required. The functions are
// called from many goroutines, and must not wait.
type Options struct {
	// Config returns the configuration in effect.
	Config func() config.WebhookConfiguration
	// Sample decides whether a trace that begins at admission is sampled.
	Sample func(trace.TraceID) bool
	// Open returns the context of the reconciliation of an object in a namespace, if
	// one is known to be under way; nil means that none is known.
	Open func(namespace string, uid types.UID) (trace.SpanContext, bool)

	Metrics *telemetry.Metrics
	Log     *slog.Logger
}

// Admitter answers admission reviews.
type Admitter struct {
	opts    Options
	webhook *source.Webhook
	seldom  telemetry.Seldom
	// away counts connections for which there was no room.
	away atomic.Uint64
}

// New returns an Admitter that has answered nothing.
func New(o Options) *Admitter {
	a := &Admitter{opts: o, seldom: telemetry.Seldom{Log: o.Log}}
	decider := admission.New(admission.Options{
		Convention: o.Config().ContextConvention(), Trusts: a.trusts, Open: o.Open, Sample: o.Sample,
	})
	a.webhook = source.New(source.Options{
		// The machine's own clock: others read claims by theirs.
		Decide: decider.Decide, Now: time.Now,
		Answered: a.answered, Failed: a.failed,
		Took: func(d time.Duration) { o.Metrics.AdmissionSeconds.Observe(d.Seconds()) },
	})
	return a
}

// Listen begins to listen, for Serve.
func (a *Admitter) Listen(ctx context.Context, e listen.Endpoint) (net.Listener, error) {
	return source.Listen(ctx, e, a.opts.Log, a.turnedAway)
}

// Serve answers reviews on ln until ctx ends and what is under way is answered;
// sooner, with an error, if ln fails. It closes ln.
func (a *Admitter) Serve(ctx context.Context, ln net.Listener) error {
	return a.webhook.Serve(ctx, ln,
		log.New(a.seldom.Writer("a client of the admission webhook was not understood"), "", 0))
}

// Refresh brings the metrics up to date.
func (a *Admitter) Refresh() {
	st, m := a.webhook.Stats(), a.opts.Metrics
	m.AdmissionReviews.Raise(float64(st.Reviews))
	m.AdmissionRefused.Raise(float64(st.Refused))
	m.AdmissionMalformed.Raise(float64(st.Malformed))
	m.AdmissionBusy.Raise(float64(st.Busy + a.away.Load()))
	m.AdmissionFailed.Raise(float64(st.Failed))
}

// trusts reports whether a user may supply a context. The control plane may: what
// it supplies it has copied from what others were admitted with, and would write
// again if it were replaced.
func (a *Admitter) trusts(u admission.User) bool {
	return u.IsControlPlane() || a.opts.Config().Supplies(u.Groups)
}

// unknown is the evidence of a context that follows from nothing that is known.
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

// maxStack is how much of a stack is logged, in bytes.
const maxStack = 4 << 10

func (a *Admitter) turnedAway() {
	a.away.Add(1)
	a.seldom.Say(slog.LevelWarn,
		"connections to the admission webhook are closed: there are too many at a time; let nobody but API servers "+
			"reach it")
}

// text is what a cluster says, as part of a log line.
func text(key, value string) slog.Attr { return slog.String(key, object.Bound(value)) }
