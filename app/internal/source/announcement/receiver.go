// SPDX-License-Identifier: Apache-2.0

package announcement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	// maxBody limits an announcement, in bytes.
	maxBody = 1 << 20
	// maxOpen limits the commands that have not ended.
	maxOpen = 256
)

// Options configures a Receiver. All fields are required.
type Options struct {
	// Sink takes observations; an error means that none of them was taken. Calls may be concurrent.
	Sink func(context.Context, []*observation.Observation) error
	// Used reports whether an ended trace has this ID.
	Used func(context.Context, trace.TraceID) (bool, error)
	// Now returns the time by the server's clock.
	Now func() time.Time
	// Error writes an error response.
	Error func(w http.ResponseWriter, code int, message string)
}

// Receiver is an http.Handler for announcements. It ends the commands whose announcements stop.
type Receiver struct {
	opts Options

	mu   sync.Mutex
	open map[trace.TraceID]*command
}

// command is an announced command that has not ended.
type command struct {
	// mu keeps the announcements of one command in order.
	mu    sync.Mutex
	run   *observation.Run
	skew  time.Duration
	heard time.Time
	ended bool
}

// New returns a Receiver. unended are the commands of an earlier Receiver that have not ended.
func New(o Options, unended ...*observation.Run) *Receiver {
	r := &Receiver{opts: o, open: map[trace.TraceID]*command{}}
	for _, run := range unended {
		r.open[parse(run.TraceParent).TraceID()] = &command{run: run, heard: o.Now()}
	}
	return r
}

// rejection is an error response to a request.
type rejection struct {
	code int
	text string
}

// Error implements error.
func (r *rejection) Error() string { return r.text }

// ServeHTTP takes one announcement and responds with its trace ID.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id, err := r.take(w, req)
	if err != nil {
		no := &rejection{
			code: http.StatusServiceUnavailable,
			text: "the server cannot take announcements now: " + err.Error(),
		}
		_ = errors.As(err, &no)
		w.Header().Set("Connection", "close") // the rest of the body stays unread
		r.opts.Error(w, no.code, no.text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"traceId\":%q}\n", id)
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) (trace.TraceID, error) {
	if err := admit(req); err != nil {
		return trace.TraceID{}, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return trace.TraceID{}, &rejection{
			http.StatusRequestEntityTooLarge, fmt.Sprintf("the announcement has more than %d bytes", maxBody),
		}
	case err != nil:
		return trace.TraceID{}, &rejection{
			http.StatusBadRequest, "the announcement is incomplete or was sent too slowly",
		}
	}
	var a Announcement
	if err := json.Unmarshal(body, &a); err != nil {
		return trace.TraceID{}, &rejection{http.StatusBadRequest, "the body is not an announcement in JSON"}
	}
	now := r.opts.Now()
	id, err := a.check(now)
	if err != nil {
		return id, &rejection{http.StatusBadRequest, "the announcement is not possible: " + err.Error()}
	}
	c, err := r.command(req.Context(), id, &a, now)
	if err != nil {
		return id, err
	}
	return id, r.pass(req.Context(), id, c, &a, now)
}

// admit rejects requests that may not announce: those of other machines without a client
// certificate, and those of web pages.
func admit(req *http.Request) error {
	if req.Method != http.MethodPost {
		return &rejection{http.StatusMethodNotAllowed, "send announcements with POST"}
	}
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &rejection{http.StatusUnsupportedMediaType, "send announcements as application/json"}
	}
	if req.Header.Get("Origin") != "" {
		return &rejection{http.StatusForbidden, "web pages may not announce commands"}
	}
	if req.TLS != nil && len(req.TLS.VerifiedChains) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	ip := net.ParseIP(host)
	if err != nil || ip == nil || !ip.IsLoopback() || forwarded(req) {
		return &rejection{
			http.StatusForbidden,
			"commands are announced from the server's machine, by kubectl port-forward, or with a client certificate",
		}
	}
	return nil
}

// forwarded reports whether a reverse proxy sent the request for another client.
func forwarded(req *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if req.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// command returns the announced command, which may be new.
func (r *Receiver) command(ctx context.Context, id trace.TraceID, a *Announcement, now time.Time) (*command, error) {
	if c := r.known(id); c != nil {
		return c, nil
	}
	used, err := r.opts.Used(ctx, id)
	if err != nil {
		return nil, err
	}
	if used {
		return nil, &rejection{http.StatusConflict, "another trace has this trace ID"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.open[id]; c != nil {
		return c, nil
	}
	if len(r.open) >= maxOpen {
		return nil, &rejection{
			http.StatusTooManyRequests, fmt.Sprintf("%d commands run already: announce this one later", maxOpen),
		}
	}
	c := &command{skew: a.skew(now)}
	r.open[id] = c
	return c, nil
}

func (r *Receiver) known(id trace.TraceID) *command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[id]
}

// pass gives the observations of an announcement to the sink.
func (r *Receiver) pass(ctx context.Context, id trace.TraceID, c *command, a *Announcement, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	run := a.run(c.skew)
	var all []*observation.Observation
	if c.run == nil {
		started := *run
		started.End, started.ExitCode = time.Time{}, 0
		all = append(all, observed(&started, now))
	}
	for _, w := range a.writes(c.skew) {
		all = append(all, &observation.Observation{Seen: now, Source: observation.SourceRequest, Write: w})
	}
	ends := !run.End.IsZero() && !c.ended
	if ends {
		all = append(all, observed(run, now))
	}
	if err := r.opts.Sink(ctx, all); err != nil {
		if c.run == nil {
			r.forget(id)
		}
		return err
	}
	c.run, c.heard = run, now
	if ends {
		c.ended = true
		r.forget(id)
	}
	return nil
}

func (r *Receiver) forget(id trace.TraceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

func observed(run *observation.Run, now time.Time) *observation.Observation {
	return &observation.Observation{Seen: now, Source: observation.SourceRun, Run: run}
}

// Watch ends the commands without an announcement for some time, until ctx ends.
func (r *Receiver) Watch(ctx context.Context) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.endSilent(ctx)
		}
	}
}

// endSilent ends the commands without an announcement for longer than patience. Such a command was
// probably killed: its end is the last announcement, and its exit code unknown (-1).
func (r *Receiver) endSilent(ctx context.Context) {
	now := r.opts.Now()
	r.mu.Lock()
	all := make(map[trace.TraceID]*command, len(r.open))
	for id, c := range r.open {
		all[id] = c
	}
	r.mu.Unlock()
	for id, c := range all {
		c.end(ctx, r, id, now)
	}
}

func (c *command) end(ctx context.Context, r *Receiver, id trace.TraceID, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil || c.ended || now.Sub(c.heard) < patience {
		return
	}
	run := *c.run
	run.End, run.ExitCode = c.heard, killed
	if r.opts.Sink(ctx, []*observation.Observation{observed(&run, now)}) != nil {
		return // the next round tries again
	}
	c.ended = true
	r.forget(id)
}
