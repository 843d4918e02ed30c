// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// ErrFull is what a Sink returns, or wraps, that can take no more for now.
var ErrFull = errors.New("the receiver is full")

// Sink takes observations, in the order in which the log told them: all or, with
// an error, none. Then it is given the same again later. It may be called from
// several goroutines at once.
type Sink func(ctx context.Context, batch []*observation.Observation) error

// Config says what a Source hands on, and where to.
type Config struct {
	// Sink must be set.
	Sink Sink
	// Exclude names resources whose writes are passed over, beside Leases and
	// Events. An empty Resource stands for the whole group.
	Exclude []schema.GroupResource
	// Token is what requests of the webhook must carry; nil admits all.
	Token *listen.Token
	// Unauthenticated says that anyone who reaches the source can send events.
	Unauthenticated bool
	// Anonymous leaves out who asked, and refused writes. It is for an unauthenticated source beside
	// an authenticated one.
	Anonymous bool
	// Kind names the kind of a resource that is not Kubernetes' own, empty if
	// it is not known; nil knows none. Where bodies are logged they tell it, too.
	Kind func(schema.GroupVersionResource) string
	// Now is the observer's clock; time.Now if nil.
	Now func() time.Time
	// MaxBody bounds a batch of the webhook, in bytes, packed and unpacked;
	// default 32 MiB. MaxInFlight bounds how many are read at once, and so the
	// memory that they take; default 4.
	MaxBody     int64
	MaxInFlight int
	// MaxLine bounds a line of a file, in bytes; default 8 MiB.
	MaxLine int
	// Reached is told how far Follow has come, after the Sink has taken all up
	// to there. Nil ignores it.
	Reached func(Position)
	// Warn is told what a user can do something about; nil ignores it.
	Warn func(format string, args ...any)
}

// Source reads an audit log. Its methods are safe for concurrent use.
type Source struct {
	Config
	exclude  map[schema.GroupResource]bool
	kinds    *request.Kinds
	reading  chan struct{}
	counters counters
	// patience bounds the reading of one batch, sinkPatience the wait for the sink.
	patience, sinkPatience time.Duration
	// wait waits before a file is looked at again; false when ctx has ended.
	wait func(ctx context.Context, pause time.Duration) bool
}

// always are the resources whose writes tell of no change.
var always = []schema.GroupResource{
	{Resource: "events"},
	{Group: "events.k8s.io"},
	{Group: "coordination.k8s.io", Resource: "leases"},
}

// New returns a Source that reads what it is given by ServeHTTP and Follow.
func New(c Config) (*Source, error) {
	if c.Sink == nil {
		return nil, errors.New("cannot read an audit log: there is no sink to hand it to")
	}
	if c.MaxBody < 0 || c.MaxInFlight < 0 || c.MaxLine < 0 {
		return nil, errors.New("cannot read an audit log: a limit is negative")
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

// kindOf names the kind of a resource's objects, empty if it is not known.
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
