// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// takeAnnouncements starts the receiver of the commands that lifeline run announces. With several
// servers there is none: the other servers could not report the same trace. running are the
// commands of an earlier process that have not ended.
func (s *server) takeAnnouncements(up *tasks, running []*observation.Run) {
	if s.conf.Load().Replicas.Mode != config.ModeSingle {
		return
	}
	receiver := announcement.New(announcement.Options{
		Sink: s.loop.takeInStored, Used: s.ended, Now: s.clock.Now, Error: api.Reject,
	}, running...)
	s.announcements.Store(receiver)
	up.start("announced commands", receiver.Watch)
}

// ended reports whether an ended trace has this ID.
func (s *server) ended(ctx context.Context, id trace.TraceID) (bool, error) {
	rec, err := s.view.Trace(ctx, store.Scope{}, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return !rec.Open, nil
}

// announced takes an announcement.
func (s *server) announced(w http.ResponseWriter, r *http.Request) {
	if receiver := s.announcements.Load(); receiver != nil {
		receiver.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close") // the body stays unread
	if s.conf.Load().Replicas.Mode != config.ModeSingle {
		api.Reject(w, http.StatusConflict, "this server is one of several, which take no announced commands")
		return
	}
	api.Reject(w, http.StatusServiceUnavailable, "the server is starting or stopping")
}
