// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/jaeger"
	"github.com/kube-lifeline/lifeline/app/internal/page"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// entrance has the parts that answer requests from the start on, before the cluster is reached.
type entrance struct {
	gate             *gate
	people, scrapers *listening
	admitting        *admitting
	// unguarded is true if every client of the API may read everything, without a token.
	unguarded bool
	// opened gets the URL of the API once it answers; may be nil.
	opened func(url string)
	log    *slog.Logger
}

// start starts the parts. Both listeners come first: a server with a taken port ends at once. Every
// write is admitted, whatever the server's state and leadership. So admission starts before all other
// parts and stops after them.
func (e *entrance) start(ctx context.Context, up *parts, version string) error {
	if err := up.start(ctx, e.people, e.scrapers); err != nil {
		return err
	}
	e.log.Info("lifeline serve starts", "version", version, "telemetry", e.scrapers.address.String())
	return up.start(ctx, e.admitting)
}

// archivePatience bounds the time for which the API waits for the archive at the start.
const archivePatience = 5 * time.Second

// open opens the gate to h after the first look, when the archive is open or after a few seconds
// without it.
func (e *entrance) open(ctx context.Context, h http.Handler, archived, looked <-chan struct{}) error {
	patience := time.NewTimer(archivePatience)
	defer patience.Stop()
	select {
	case <-archived:
	case <-patience.C:
	case <-ctx.Done():
		return nil
	}
	select {
	case <-looked:
	case <-ctx.Done():
		return nil
	}
	e.gate.open(h)
	e.log.Info("API listens", "address", e.people.address.String())
	if e.unguarded {
		e.log.Info("every process of this machine can read every trace (api.authorization: open)")
	}
	if e.opened != nil {
		e.opened(e.people.url())
	}
	return nil
}

// open gives every client of the listener everything.
func open(gate *store.Gate) func(*http.Request) (store.Access, error) {
	all := gate.For(store.Scope{})
	return func(*http.Request) (store.Access, error) { return all, nil }
}

// newAnswers returns the API, behind the gate.
func newAnswers(
	c config.APIConfiguration, access func(*http.Request) (store.Access, error), hub *api.Hub, problems *api.ProblemHub,
	runs http.Handler, m api.Metrics, log *slog.Logger, of *about,
) (*api.Server, error) {
	return api.New(api.Options{
		Access:     access,
		Hub:        hub,
		Problems:   problems,
		Cluster:    of.cluster,
		Info:       of.info,
		Sources:    of.sources,
		Report:     of.slower,
		MaxStreams: c.MaxStreams,
		Hosts:      []string{hostOf(c.Address)},
		Clock:      of.now,
		Log:        log,
		Metrics:    m,
		Runs:       runs,
		Others: jaeger.Handlers(jaeger.Options{
			Access: access, Cluster: of.cluster, Clock: of.now, Log: log,
		}),
	})
}

// newPage returns the handler of the page, at an address of the API.
func newPage(address string, metrics api.Metrics, log *slog.Logger) http.Handler {
	guard := httpserve.Guard{
		Error: plainError, Patience: answerTime,
		Done: func(_ *http.Request, code int) { metrics.Request("/", code) },
		Panicked: func(r *http.Request, fault any, stack []byte) {
			metrics.Panicked()
			log.Error("the page met a bug; please report it",
				"path", r.URL.Path, "panic", fault, "stack", string(stack))
		},
	}
	return guard.Wrap(httpserve.GuardHost(page.Handler(), plainError, hostOf(address)))
}
