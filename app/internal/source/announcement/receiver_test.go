// SPDX-License-Identifier: Apache-2.0

package announcement

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	root    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	request = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01"
	other   = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b8-01"
)

// server is a Receiver with its surroundings.
type server struct {
	*Receiver
	now  time.Time
	took []*observation.Observation
	used bool
	full error
}

func newServer(unended ...*observation.Run) *server {
	s := &server{now: now}
	s.Receiver = New(Options{
		Sink: func(_ context.Context, batch []*observation.Observation) error {
			if s.full != nil {
				return s.full
			}
			s.took = append(s.took, batch...)
			return nil
		},
		Used:  func(context.Context, trace.TraceID) (bool, error) { return s.used, nil },
		Now:   func() time.Time { return s.now },
		Error: func(w http.ResponseWriter, code int, message string) { http.Error(w, message, code) },
	}, unended...)
	return s
}

// post sends a body from loopback, after change has changed the request.
func (s *server) post(t testing.TB, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/runs", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:5000"
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *server) announce(t testing.TB, a *Announcement) *httptest.ResponseRecorder {
	t.Helper()
	doc, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return s.post(t, string(doc), nil)
}

func running() observation.Run {
	return observation.Run{TraceParent: root, Command: "kubectl apply", Start: now.Add(-time.Second)}
}

func write() *observation.Write {
	return &observation.Write{
		Ref: object.Ref{
			Kind: object.Kind{
				Group:   "apps",
				Version: "v1",
				Kind:    "Deployment",
			},
			Namespace: "shop",
			Name:      "web",
			UID:       "u",
		},
		Resource: "deployments", Verb: "create", ResourceVersion: 7, Generation: 1,
		Start: now.Add(-20 * time.Millisecond), End: now, Code: 201, AuditID: "a", UserAgent: "kubectl",
		TraceParent: request,
	}
}

// TestAnnouncements: the command and its writes become observations once, in order.
func TestAnnouncements(t *testing.T) {
	s := newServer()
	first := &Announcement{Sent: now, Run: running(), Writes: []*observation.Write{write()}}
	if w := s.announce(t, first); w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	s.announce(t, &Announcement{Sent: now, Run: running()})
	ended := running()
	ended.End, ended.ExitCode = now.Add(time.Second), 3
	s.now = now.Add(2 * time.Second)
	s.announce(t, &Announcement{Sent: s.now, Run: ended})
	started := running()
	want := []*observation.Observation{
		{Seen: now, Source: observation.SourceRun, Run: &started},
		{Seen: now, Source: observation.SourceRequest, Write: write()},
		{Seen: s.now, Source: observation.SourceRun, Run: &ended},
	}
	if diff := cmp.Diff(want, s.took); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
	if len(s.open) != 0 {
		t.Error("the ended command is still open")
	}
}

// TestClaims: fields that a sender may not claim, and unusable writes, are dropped.
func TestClaims(t *testing.T) {
	s := newServer()
	forged := write()
	forged.User, forged.Impersonator, forged.Manager, forged.Server = "admin", "root", "m", other
	forged.Controller, forged.Removes, forged.Precondition = "c", true, 5
	forged.Name = strings.Repeat("x", 5000) + "\xff"
	failed, nameless, foreign := write(), write(), write()
	nameless.UID, foreign.TraceParent = "", other
	failed.Code, failed.Reason, failed.Message, failed.User = 403, "Forbidden", `password "hunter2" is wrong`, "admin"
	s.announce(t, &Announcement{
		Sent: now, Run: running(), Writes: []*observation.Write{nil, forged, failed, nameless, foreign},
	})
	want := write()
	want.Name = object.Bound(strings.Repeat("x", 5000))
	refused := write()
	refused.UID, refused.ResourceVersion, refused.Generation = "", 0, 0
	refused.Code, refused.Reason, refused.Message = 403, "Forbidden", message.Withheld
	if len(s.took) != 3 {
		t.Fatalf("got %d observations, want the command, one write and a refused one", len(s.took))
	}
	for i, want := range []*observation.Write{want, refused} {
		if diff := cmp.Diff(want, s.took[i+1].Write); diff != "" {
			t.Errorf("write %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestClocks: times of a sender with another clock become the server's.
func TestClocks(t *testing.T) {
	s := newServer()
	s.now = now.Add(time.Minute)
	s.announce(t, &Announcement{Sent: now, Run: running(), Writes: []*observation.Write{write()}})
	s.now = now.Add(3 * time.Minute) // a slow request changes nothing
	s.announce(t, &Announcement{Sent: now.Add(time.Second), Run: running(), Writes: []*observation.Write{write()}})
	for _, o := range s.took {
		if o.Run != nil && !o.Run.Start.Equal(now.Add(time.Minute-time.Second)) ||
			o.Write != nil && !o.Write.End.Equal(now.Add(time.Minute)) {
			t.Errorf("the times are %+v", o)
		}
	}
}

func TestRejections(t *testing.T) {
	doc := func(change func(*Announcement)) string {
		a := &Announcement{Sent: now, Run: running()}
		change(a)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good := doc(func(*Announcement) {})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = address }
	}
	for name, tc := range map[string]struct {
		body   string
		change func(*http.Request)
		code   int
	}{
		"good":            {good, nil, http.StatusOK},
		"IPv6 loopback":   {good, from("[::1]:80"), http.StatusOK},
		"another machine": {good, from("192.0.2.1:80"), http.StatusForbidden},
		"no address":      {good, from("@"), http.StatusForbidden},
		"client certificate": {good, func(r *http.Request) {
			r.RemoteAddr = "192.0.2.1:80"
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
		}, http.StatusOK},
		"TLS without a certificate": {good, func(r *http.Request) {
			r.RemoteAddr, r.TLS = "192.0.2.1:80", &tls.ConnectionState{}
		}, http.StatusForbidden},
		"web page":       {good, header("Origin", "http://127.0.0.1"), http.StatusForbidden},
		"reverse proxy":  {good, header("X-Forwarded-For", "192.0.2.1"), http.StatusForbidden},
		"form":           {good, header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"GET":            {"", func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		"nothing":        {"", nil, http.StatusBadRequest},
		"no JSON":        {"{", nil, http.StatusBadRequest},
		"deeply nested":  {strings.Repeat("[", 100_000), nil, http.StatusBadRequest},
		"too large":      {`{"sent": "` + strings.Repeat("x", maxBody) + `"}`, nil, http.StatusRequestEntityTooLarge},
		"no trace":       {doc(func(a *Announcement) { a.Run.TraceParent = "x" }), nil, http.StatusBadRequest},
		"no time":        {doc(func(a *Announcement) { a.Sent = time.Time{} }), nil, http.StatusBadRequest},
		"far future":     {doc(func(a *Announcement) { a.Sent = now.AddDate(1, 0, 0) }), nil, http.StatusBadRequest},
		"starts in 1970": {doc(func(a *Announcement) { a.Run.Start = time.Unix(0, 0) }), nil, http.StatusBadRequest},
		"too many writes": {
			doc(func(a *Announcement) { a.Writes = make([]*observation.Write, MaxWrites+1) }),
			nil,
			http.StatusBadRequest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			if w := s.post(t, tc.body, tc.change); w.Code != tc.code || w.Body.Len() == 0 {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, tc.code)
			}
			if tc.code != http.StatusOK && len(s.took)+len(s.open) > 0 {
				t.Errorf("the rejected announcement left %v, %v", s.took, s.open)
			}
		})
	}
}

// TestUsed: no command takes the trace ID of an ended trace.
func TestUsed(t *testing.T) {
	s := newServer()
	s.used = true
	if w := s.announce(t, &Announcement{Sent: now, Run: running()}); w.Code != http.StatusConflict || len(s.took) > 0 {
		t.Errorf("got %d %s, %v", w.Code, w.Body, s.took)
	}
}

// TestFull: an announcement that the server cannot store is complete when it is sent again.
func TestFull(t *testing.T) {
	s := newServer()
	s.full = errors.New("the disk is full")
	a := &Announcement{Sent: now, Run: running(), Writes: []*observation.Write{write()}}
	if w := s.announce(t, a); w.Code != http.StatusServiceUnavailable || len(s.open) > 0 {
		t.Errorf("got %d %s; open: %v", w.Code, w.Body, s.open)
	}
	s.full = nil
	if s.announce(t, a); len(s.took) != 2 {
		t.Errorf("got %d observations, want the command and its write", len(s.took))
	}
}

// TestTooManyCommands: the number of open commands is limited.
func TestTooManyCommands(t *testing.T) {
	s := newServer()
	for i := range maxOpen + 1 {
		run := running()
		id := trace.TraceID{1, byte(i >> 8), byte(i)}
		run.TraceParent = "00-" + id.String() + "-00f067aa0ba902b7-01"
		w := s.announce(t, &Announcement{Sent: now, Run: run})
		if full := i == maxOpen; full != (w.Code == http.StatusTooManyRequests) {
			t.Fatalf("command %d: got %d %s", i, w.Code, w.Body)
		}
	}
}

// TestSilent: a command without announcements ends, also one of an earlier process.
func TestSilent(t *testing.T) {
	earlier := running()
	s := newServer(&earlier)
	s.now = now.Add(patience - 1)
	if s.endSilent(t.Context()); len(s.took) > 0 {
		t.Errorf("it ended too early: %v", s.took)
	}
	s.now = now.Add(patience)
	s.full = errors.New("the disk is full")
	s.endSilent(t.Context())
	s.full = nil
	s.endSilent(t.Context())
	s.endSilent(t.Context())
	if len(s.took) != 1 || !s.took[0].Run.End.Equal(now) || s.took[0].Run.ExitCode != killed || len(s.open) > 0 {
		t.Errorf("got %+v, open: %v", s.took, s.open)
	}
}

// FuzzAnnouncement: no body panics or leaves an unbounded or foreign observation.
func FuzzAnnouncement(f *testing.F) {
	doc, err := json.Marshal(&Announcement{Sent: now, Run: running(), Writes: []*observation.Write{write()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(doc))
	f.Add(
		`{"sent":"2026-03-01T12:00:00Z",` +
			`"run":{"traceParent":"` + root + `","start":"2026-03-01T12:00:00Z"},"writes":[null,{}]}`,
	)
	f.Fuzz(func(t *testing.T, body string) {
		s := newServer()
		w := s.post(t, body, nil)
		if (w.Code == http.StatusOK) != (len(s.took) > 0) {
			t.Errorf("status %d with %d observations", w.Code, len(s.took))
		}
		for _, o := range s.took {
			if w := o.Write; w != nil &&
				(w.User != "" || w.UID == "" || len(w.Name) > 1024 || w.Start.IsZero() || w.End.Before(w.Start)) {
				t.Errorf("write %+v", w)
			}
			if o.Run != nil && (o.Run.Start.IsZero() || len(o.Run.Command) > 1024) {
				t.Errorf("command %+v", o.Run)
			}
		}
	})
}
