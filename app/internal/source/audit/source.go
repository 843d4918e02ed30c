// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// ErrFull is the error, possibly wrapped, of a Sink without room.
var ErrFull = errors.New("the receiver is full")

// Sink accepts observations in the order of the log. It accepts all or, with an error, none; the
// same batch is then sent again. Calls may be concurrent.
type Sink func(ctx context.Context, batch []*observation.Observation) error

// Config configures a Source.
type Config struct {
	// Sink receives the observations; required.
	Sink Sink
	// Exclude has further resources whose writes are skipped, beside Leases and Events. An empty
	// Resource means the whole group.
	Exclude []schema.GroupResource
	// Token authenticates webhook requests; nil accepts all.
	Token *httpserve.Token
	// Unauthenticated means that any client that reaches the source can send events.
	Unauthenticated bool
	// Anonymous omits users and refused writes. It is for an unauthenticated source beside an
	// authenticated one.
	Anonymous bool
	// Kind returns the kind of a custom resource, or "" if unknown; nil means that all are unknown.
	// Kinds in logged bodies are used too.
	Kind func(schema.GroupVersionResource) string
	// Refusals cleans the reasons of refused writes.
	Refusals request.Refusals
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// MaxBody limits a webhook batch in bytes, compressed and decompressed; default 32 MiB.
	// MaxInFlight limits the concurrent batches, and so their memory; default 4.
	MaxBody     int64
	MaxInFlight int
	// MaxLine limits a line of a file in bytes; default 8 MiB.
	MaxLine int
	// Reached is called with Follow's position after the Sink has accepted everything before it;
	// nil means no call.
	Reached func(Position)
	// Warn is called with problems that the user can fix; nil means no call.
	Warn func(format string, args ...any)
}

// Source reads an audit log. Its methods are safe for concurrent use.
type Source struct {
	Config
	exclude  map[schema.GroupResource]bool
	kinds    *request.Kinds
	reading  chan struct{}
	counters counters
	// patience limits the time to read a batch, sinkPatience the wait for the sink.
	patience, sinkPatience time.Duration
	// wait pauses before the next check of a file. It returns false if ctx has ended.
	wait func(ctx context.Context, pause time.Duration) bool
}

// always are the excluded resources of every Source.
var always = []schema.GroupResource{
	{Resource: "events"},
	{Group: "events.k8s.io"},
	{Group: "coordination.k8s.io", Resource: "leases"},
}

// New returns a Source for ServeHTTP and Follow.
func New(c Config) (*Source, error) {
	if c.Sink == nil {
		return nil, errors.New("cannot read an audit log: Sink is nil")
	}
	if c.MaxBody < 0 || c.MaxInFlight < 0 || c.MaxLine < 0 {
		return nil, errors.New("cannot read an audit log: MaxBody, MaxInFlight or MaxLine is negative")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxBody == 0 {
		c.MaxBody = 32 << 20
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 4
	}
	if c.MaxLine == 0 {
		c.MaxLine = 8 << 20
	}
	if c.Warn == nil {
		c.Warn = func(string, ...any) {}
	}
	if c.Reached == nil {
		c.Reached = func(Position) {}
	}
	s := &Source{
		Config: c, exclude: map[schema.GroupResource]bool{}, kinds: request.NewKinds(),
		reading: make(chan struct{}, c.MaxInFlight), patience: bodyPatience, sinkPatience: sinkPatience, wait: pause,
	}
	for _, list := range [][]schema.GroupResource{always, c.Exclude} {
		for _, gr := range list {
			s.exclude[gr] = true
		}
	}
	return s, nil
}

func (s *Source) excludes(gr schema.GroupResource) bool {
	return s.exclude[gr] || s.exclude[schema.GroupResource{Group: gr.Group}]
}

// kindOf returns the kind of a resource, or "" if unknown.
func (s *Source) kindOf(gvr schema.GroupVersionResource) string {
	if kind := s.kinds.Of(gvr); kind != "" || s.Kind == nil {
		return kind
	}
	return s.Kind(gvr)
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
