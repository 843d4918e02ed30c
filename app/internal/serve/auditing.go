// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// auditState is the name of the audit log file's position.
const auditState = "audit/log"

func receivesAudit(c *config.ServerConfiguration) bool {
	return c.Receivers.Audit.LogFile != "" || c.Receivers.Audit.Webhook.Address != ""
}

// auditing is the part that reads the API server's audit log from its file, its webhook or both.
// Without one in the configuration it does nothing.
type auditing struct {
	conf config.AuditReceiverConfiguration
	// source is the configuration of both sources, without a sink.
	source audit.Config
	in     *intake
	saved  savedState
	log    *slog.Logger
	fail   func(error)
	// listed returns the end of the first lists of this process; zero before. watches reports whether objects
	// of a resource in a namespace are watched. discovered is closed when the kinds of the cluster are known,
	// and the file is read from then on. All are set before the start; nil in tests.
	listed     func() time.Time
	watches    func(gr schema.GroupResource, namespace string) bool
	discovered <-chan struct{}
	// begins is the first position to read in the file; nil before locate.
	begins *audit.Position

	// file and webhook are the sources; nil if not configured, and before the start.
	file, webhook *audit.Source
	// address is the bound address of the webhook; nil without one.
	address net.Addr
	parts   parts
}

// savedState is the part of a journal with state. A *journal.Journal is one.
type savedState interface {
	// State returns a value, or store.ErrNotFound.
	State(ctx context.Context, name string) ([]byte, error)
}

// newAuditing returns an auditing that resumes at the saved position. source has Exclude, Kind and Now.
func newAuditing(
	c config.AuditReceiverConfiguration, source audit.Config, in *intake, saved savedState, log *slog.Logger,
	fail func(error),
) *auditing {
	known := make(chan struct{})
	close(known)
	a := &auditing{conf: c, source: source, in: in, saved: saved, log: log, fail: fail, discovered: known}
	a.source.Reached = a.reached
	a.source.Warn = func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) }
	return a
}

// Start implements part.
func (a *auditing) Start(ctx context.Context) error {
	err := a.startFile(ctx)
	if err == nil {
		err = a.startWebhook(ctx)
	}
	if err != nil {
		_ = a.parts.stop()
	}
	return err
}

// Stop implements part. All events are then in the intake.
func (a *auditing) Stop() error { return a.parts.stop() }

func (a *auditing) startFile(ctx context.Context) error {
	if a.conf.LogFile == "" {
		return nil
	}
	err := a.locate(ctx)
	if err == nil {
		conf := a.source
		conf.Sink = a.noting(a.in.takeIn)
		a.file, err = audit.New(conf)
	}
	if err != nil {
		return fmt.Errorf("%w (receivers.audit.logFile)", err)
	}
	return a.begin(ctx, func(ctx context.Context) error {
		select {
		case <-a.discovered: // an event of an unknown kind would be skipped
		case <-ctx.Done():
			return nil
		}
		return a.file.Follow(ctx, a.conf.LogFile, *a.begins)
	})
}

// locate finds the first position to read. It must precede the first list of the watches: the audit event of a change
// after that list counts.
func (a *auditing) locate(ctx context.Context) error {
	if a.conf.LogFile == "" || a.begins != nil {
		return nil
	}
	from, err := a.from(ctx)
	if err == nil {
		a.begins = &from
	}
	return err
}

func (a *auditing) startWebhook(ctx context.Context) error {
	if a.conf.Webhook.Address == "" {
		return nil
	}
	ln, err := a.listen(ctx)
	if err != nil {
		return fmt.Errorf("%w (receivers.audit.webhook)", err)
	}
	a.log.Info("audit events are received", "address", ln.Addr().String())
	return a.begin(ctx, func(ctx context.Context) error { return a.webhook.Serve(ctx, ln) })
}

func (a *auditing) begin(ctx context.Context, read func(context.Context) error) error {
	return a.parts.start(ctx, &task{name: "cannot read the audit log", run: read, fail: a.fail})
}

// listen opens the webhook's listener. The log file counts as authenticated, since only users with
// write access can add events. Beside it, the users in events of an unauthenticated webhook are
// ignored.
func (a *auditing) listen(ctx context.Context) (net.Listener, error) {
	at := endpoint(a.conf.Webhook)
	conf := a.source
	conf.Sink = a.noting(a.in.takeInStored)
	conf.Unauthenticated = !at.Authenticates()
	conf.Anonymous = conf.Unauthenticated && a.conf.LogFile != ""
	var err error
	if conf.Token, err = at.Token(httpserve.Purpose{Name: "audit batches", Log: a.log}); err != nil {
		return nil, err
	}
	if a.webhook, err = audit.New(conf); err != nil {
		return nil, err
	}
	ln, err := audit.Listen(ctx, at, a.log)
	if err != nil {
		return nil, err
	}
	a.address = ln.Addr()
	return ln, nil
}

// noting returns a sink that marks the requests from before the end of the first lists.
func (a *auditing) noting(sink audit.Sink) audit.Sink {
	if a.listed == nil {
		return sink
	}
	return func(ctx context.Context, batch []*observation.Observation) error {
		listed := a.listed()
		for _, o := range batch {
			if w := o.Write; w != nil && !w.Failed() && (listed.IsZero() || w.End.Before(listed)) {
				w.Unlisted = a.watches(schema.GroupResource{Group: w.Group, Resource: w.Resource}, w.Namespace)
			}
		}
		return sink(ctx, batch)
	}
}

func (a *auditing) reached(p audit.Position) {
	a.in.hand(item{mark: [2]string{auditState, p.String()}})
}

// from returns the saved position in the file. A server with a new store starts at the end, since
// it does not trace earlier writes.
func (a *auditing) from(ctx context.Context) (audit.Position, error) {
	place, err := a.saved.State(ctx, auditState)
	if errors.Is(err, store.ErrNotFound) {
		return a.fromEnd()
	}
	if err != nil {
		return audit.Position{}, err
	}
	p, err := audit.ParsePosition(string(place))
	if err != nil {
		a.log.Warn("the audit log is followed from its end", errAttr(err))
		return a.fromEnd()
	}
	a.reached(p) // for a store that replaces this one
	return p, nil
}

// fromEnd returns the end of the file and stores it at once. A server that is killed before its
// first read then resumes there.
func (a *auditing) fromEnd() (audit.Position, error) {
	end, err := audit.End(a.conf.LogFile)
	if err == nil {
		a.reached(end)
	}
	return end, err
}

// stats returns the counts of the sources.
func (a *auditing) stats() []audit.Stats {
	var out []audit.Stats
	for _, source := range []*audit.Source{a.file, a.webhook} {
		if source != nil {
			out = append(out, source.Stats())
		}
	}
	return out
}
