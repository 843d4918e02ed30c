// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// announced is the part that receives the commands that lifeline run announces. It is an http.Handler.
// With several servers it takes none: the other servers could not report the same trace.
type announced struct {
	receiver *announcement.Receiver // nil with several servers

	task
}

// newAnnounced returns an announced for the commands of one server. running are the commands of an
// earlier process that have not ended.
func newAnnounced(
	single bool, in *intake, traces store.Reader, now func() time.Time, fail func(error),
	running ...*observation.Run,
) *announced {
	a := &announced{}
	if single {
		a.receiver = announcement.New(announcement.Options{
			Sink: in.takeInStored, Used: endedIn(traces), Now: now, Error: api.Reject,
		}, running...)
		a.task = task{name: "announced commands", run: a.receiver.Watch, fail: fail}
	}
	return a
}

// Start implements part.
func (a *announced) Start(ctx context.Context) error {
	if a.receiver == nil {
		return nil
	}
	return a.task.Start(ctx)
}

// endedIn returns a function that reports whether an ended trace has an ID.
func endedIn(traces store.Reader) func(context.Context, trace.TraceID) (bool, error) {
	return func(ctx context.Context, id trace.TraceID) (bool, error) {
		rec, err := traces.Trace(ctx, store.Scope{}, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		}
		return !rec.Open, nil
	}
}

// ServeHTTP implements http.Handler.
func (a *announced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.receiver != nil {
		a.receiver.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close") // the body stays unread
	api.Reject(w, http.StatusConflict, "this server is one of several, which take no announced commands")
}
