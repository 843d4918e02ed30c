// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"io"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// failing is a stream in a stage, of a Watcher that makes no requests.
func failing(t *testing.T, of schema.GroupVersionResource, at stage) *stream {
	t.Helper()
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, Emit: func(*observation.Observation) {}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.server.renewed = time.Now() // the credentials were read just now
	w.pending.add()
	s := newStream(plan{resource: of}, w.shared, new(counters))
	s.progress = stages()[at]
	s.read.link = w.server.link.Load()
	return s
}

// TestJudge checks the reaction to each result of a request.
func TestJudge(t *testing.T) {
	gr := pods.GroupResource()
	refused := &url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: io.ErrUnexpectedEOF}
	// after is the state of a stream after a reaction.
	type after struct {
		next  next
		stage stage
		// lost and refused are those of contact; unreadable is that of Stats.
		lost, refused, unreadable bool
		jsonOnly                  bool
		resource                  schema.GroupVersionResource
	}
	for name, c := range map[string]struct {
		reason string
		of     schema.GroupVersionResource
		from   stage
		err    error
		before func(*stream)
		want   after
	}{
		"End": {
			"a watch ends; the next one continues from the same version",
			pods, follow, nil, nil, after{next: soon, stage: follow},
		},
		"Gone": {
			"the version is lost", pods, follow, apierrors.NewResourceExpired("too old"), nil,
			after{next: soon, stage: compare},
		},
		"GoneInAList": {
			"the continue token is lost; the list starts again", pods, compare, apierrors.NewResourceExpired(""),
			nil, after{next: soon, stage: compare},
		},
		"GoneAtTheStart": {
			"the past state is lost", pods, startAt, apierrors.NewResourceExpired("too old"), nil,
			after{next: soon, stage: startNow},
		},
		"SetBack": {
			"the storage is older than what was observed", pods, follow, errSetBack, nil,
			after{next: atOnce, stage: compare},
		},
		"NoPast": {
			"the past state does not come", pods, startAt, errNoAnswer, nil, after{next: atOnce, stage: startNow},
		},
		"InvalidPast": {
			"the past state is refused", pods, startAt, apierrors.NewBadRequest("no such version"), nil,
			after{next: atOnce, stage: startNow},
		},
		"UnavailablePast": {
			"a server that is starting may have the past state", pods, startAt, apierrors.NewServiceUnavailable(""),
			nil, after{next: soon, stage: startAt, lost: true},
		},
		"Busy": {
			"the server is alive", pods, follow, apierrors.NewTooManyRequests("", 1), nil,
			after{next: soon, stage: follow},
		},
		"Slow": {"no response", pods, follow, errSlow, nil, after{next: soon, stage: follow, lost: true}},
		"Internal": {
			"no useful response", pods, follow, apierrors.NewInternalError(io.EOF), nil,
			after{next: soon, stage: follow, lost: true},
		},
		"Refused": {"no connection", pods, follow, refused, nil, after{next: soon, stage: follow, lost: true}},
		"Other":   {"an unknown error", pods, follow, errors.New("other"), nil, after{next: soon, stage: follow}},
		"Unauthorized": {
			"the credentials are refused, and there are no others yet", pods, follow, apierrors.NewUnauthorized(""),
			nil, after{next: soon, stage: follow, lost: true, refused: true},
		},
		"UnauthorizedOnce": {
			"another stream has replaced the connection", pods, follow, apierrors.NewUnauthorized(""),
			func(s *stream) { s.read.link = nil }, after{next: atOnce, stage: follow},
		},
		"Undecodable": {
			"protobuf that this release cannot read", pods, follow, apiproto.ErrUnreadable, nil,
			after{next: atOnce, stage: follow, jsonOnly: true},
		},
		"Forbidden": {
			"the stream counts as listed", pods, startNow, apierrors.NewForbidden(gr, "", nil), nil,
			after{next: rarely, stage: startNow, unreadable: true},
		},
		"ForbiddenAfterAnOutage": {
			"a starting server may lack its rights", pods, follow, apierrors.NewForbidden(gr, "", nil),
			func(s *stream) { s.contact.lose(time.Now()) }, after{next: soon, stage: follow, lost: true},
		},
		"ForbiddenEvents": {
			"Events are readable in two APIs", events, startNow, apierrors.NewForbidden(gr, "", nil), nil,
			after{next: atOnce, stage: startNow, resource: coreEvents},
		},
		"ForbiddenCoreEvents": {
			"there is no third API", coreEvents, startNow, apierrors.NewForbidden(gr, "", nil), nil,
			after{next: rarely, stage: startNow, unreadable: true},
		},
		"Missing": {
			"the API server does not offer the kind", pods, follow, apierrors.NewNotFound(gr, ""), nil,
			after{next: rarely, stage: follow, unreadable: true},
		},
		"MissingVersion": {
			"the API server offers another version", pods, follow, apierrors.NewMethodNotSupported(gr, "watch"),
			func(s *stream) {
				v2 := pods.GroupResource().WithVersion("v2")
				s.known.asked, s.known.resources = time.Now(), []resource{{GroupVersionResource: v2}}
			},
			after{next: atOnce, stage: follow, resource: pods.GroupResource().WithVersion("v2")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := failing(t, c.of, c.from)
			if c.before != nil {
				c.before(s)
			}
			if c.want.resource.Empty() {
				c.want.resource = c.of
			}
			got := after{next: s.judge(t.Context(), c.err)}
			got.stage, got.refused = s.progress.stage, s.contact.refused
			got.lost, got.jsonOnly = !s.contact.lost.IsZero(), s.read.jsonOnly
			got.unreadable, got.resource = s.state.since.Load() == cannotRead, s.read.resource
			if got != c.want {
				t.Errorf("%s:\n got %+v\nwant %+v", c.reason, got, c.want)
			}
			if listed := s.pending.left == 0; listed != c.want.unreadable {
				t.Errorf("%s: counts as listed: %t, want %t", c.reason, listed, c.want.unreadable)
			}
			if s.resource != c.of {
				t.Errorf("%s: the planned resource has become %v", c.reason, s.resource)
			}
		})
	}
}

// TestDisconnected: the end of a watch that was catching up leaves the stream behind.
func TestDisconnected(t *testing.T) {
	for from, want := range map[delivery]delivery{live: live, behind: behind, catchingUp: behind} {
		s := failing(t, pods, follow)
		s.lag.delivery = from
		s.state.connected()
		s.disconnected()
		if s.lag.delivery != want || !s.contact.isStarting(time.Now()) {
			t.Errorf("%s has become %s, want %s", from, s.lag.delivery, want)
		}
		var shown ResourceStats
		if shown.addStream(s).IsZero() {
			t.Errorf("%s: Stats shows the stream as connected", from)
		}
	}
}
