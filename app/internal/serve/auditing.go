// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// auditState is the name of the audit log file's position.
const auditState = "audit/log"

func receivesAudit(c *config.ServerConfiguration) bool {
	return c.Receivers.Audit.LogFile != "" || c.Receivers.Audit.Webhook.Address != ""
}

// auditing reads the API server's audit log from its file, its webhook or both.
type auditing struct {
	s *server
	// file and webhook are the sources; nil if not configured.
	file, webhook *audit.Source
	// address is the bound address of the webhook; nil without one.
	address net.Addr
}

// audit starts to read the audit log, if configured. The returned function stops that and waits
// until all events are in the loop.
func (s *server) audit(ctx context.Context) (end func(), err error) {
	c := s.conf.Load().Receivers.Audit
	a := &auditing{s: s}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	end = func() { cancel(); running.Wait() }
	if c.LogFile != "" {
		from, err := a.from(ctx, c.LogFile)
		if err == nil {
			a.file, err = audit.New(a.config(s.loop.takeIn))
		}
		if err != nil {
			cancel()
			return nil, fmt.Errorf("%w (receivers.audit.logFile)", err)
		}
		running.Go(func() { a.fail(ctx, a.file.Follow(ctx, c.LogFile, from)) })
	}
	if c.Webhook.Address != "" {
		ln, err := a.listen(ctx, c)
		if err != nil {
			end()
			return nil, fmt.Errorf("%w (receivers.audit.webhook)", err)
		}
		s.log.Info("audit events are received", "address", ln.Addr().String())
		running.Go(func() { a.fail(ctx, a.webhook.Serve(ctx, ln)) })
	}
	s.auditing.Store(a)
	return end, nil
}

// listen opens the webhook's listener. The log file counts as authenticated, since only users with
// write access can add events. Beside it, the users in events of an unauthenticated webhook are
// ignored.
func (a *auditing) listen(ctx context.Context, c config.AuditReceiverConfiguration) (net.Listener, error) {
	at := endpoint(c.Webhook)
	conf := a.config(a.s.loop.takeInStored)
	conf.Unauthenticated = !at.Authenticates()
	conf.Anonymous = conf.Unauthenticated && c.LogFile != ""
	var err error
	if conf.Token, err = at.Token(httpserve.Purpose{Name: "audit batches", Log: a.s.log}); err != nil {
		return nil, err
	}
	if a.webhook, err = audit.New(conf); err != nil {
		return nil, err
	}
	ln, err := audit.Listen(ctx, at, a.s.log)
	if err != nil {
		return nil, err
	}
	a.address = ln.Addr()
	return ln, nil
}

func (a *auditing) config(sink audit.Sink) audit.Config {
	return audit.Config{
		Sink: sink, Exclude: a.s.conf.Load().Watch.Excluded(), Kind: a.s.watcher.KindOf, Now: a.s.clock.Now,
		Reached: a.reached,
		Warn:    func(format string, args ...any) { a.s.log.Warn(fmt.Sprintf(format, args...)) },
	}
}

func (a *auditing) reached(p audit.Position) {
	a.s.loop.hand(item{mark: [2]string{auditState, p.String()}})
}

// from returns the saved position in the file. A server with a new store starts at the end, since
// it does not trace earlier writes.
func (a *auditing) from(ctx context.Context, path string) (audit.Position, error) {
	place, err := a.s.journal.State(ctx, auditState)
	if errors.Is(err, store.ErrNotFound) {
		return a.fromEnd(path)
	}
	if err != nil {
		return audit.Position{}, err
	}
	p, err := audit.ParsePosition(string(place))
	if err != nil {
		a.s.log.Warn("the audit log is followed from its end", errAttr(err))
		return a.fromEnd(path)
	}
	a.reached(p) // for a store that replaces this one
	return p, nil
}

// fromEnd returns the end of the file and stores it at once. A server that is killed before its
// first read then resumes there.
func (a *auditing) fromEnd(path string) (audit.Position, error) {
	end, err := audit.End(path)
	if err == nil {
		a.reached(end)
	}
	return end, err
}

func (a *auditing) fail(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		a.s.fail(fmt.Errorf("cannot read the audit log: %w", err))
	}
}

// takeIn passes a batch to the loop. After an interruption the whole batch comes again; a repeated
// event counts once.
func (l *loop) takeIn(ctx context.Context, batch []*observation.Observation) error {
	for _, o := range batch {
		if err := l.handIn(ctx, item{observation: o}); err != nil {
			return err
		}
	}
	return nil
}

// handIn is hand with a context.
func (l *loop) handIn(ctx context.Context, i item) error {
	select {
	case <-l.quit:
		return errEnding
	default:
	}
	select {
	case l.in <- i:
		l.checkFilling()
		return nil
	case <-l.quit:
		return errEnding
	case <-ctx.Done():
		return full(ctx)
	}
}

// takeInStored is takeIn, and waits until the batch is stored. After the answer the API server does
// not keep the batch. It returns at once while the journal cannot be written. Parts of the batch may
// still be stored later, and the API server sends it again.
func (l *loop) takeInStored(ctx context.Context, batch []*observation.Observation) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := l.s.writable.while(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return full(ctx)
	}
	if err := l.takeIn(ctx, batch); err != nil {
		return err
	}
	done := make(chan struct{})
	if err := l.handIn(ctx, item{then: func() { l.stored = append(l.stored, func() { close(done) }) }}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-l.quit:
		return errEnding
	case <-ctx.Done():
		return full(ctx)
	}
}

// full is the error of a batch to be sent again. It wraps the cause of ctx's end.
func full(ctx context.Context) error { return fmt.Errorf("%w: %w", audit.ErrFull, context.Cause(ctx)) }

// refreshAudit sets the metrics of the audit log.
func (s *server) refreshAudit(t *telemetry.Metrics) {
	a := s.auditing.Load()
	if a == nil {
		return
	}
	total := map[string]uint64{}
	impossible := uint64(0)
	for _, source := range []*audit.Source{a.file, a.webhook} {
		if source == nil {
			continue
		}
		st := source.Stats()
		total["write"] += st.Writes
		total["damaged"] += st.Damaged
		total["overlong"] += st.Overlong
		total["gap"] += st.Gaps
		impossible += st.Impossible
		for reason, n := range st.Passed {
			total[reason] += n
		}
		for code, n := range st.Refused {
			total[fmt.Sprintf("refused %d", code)] += n
		}
	}
	for what, n := range total {
		t.AuditEvents.Raise(float64(n), what)
	}
	t.ImpossibleTimes.Raise(float64(impossible), string(observation.SourceAudit))
}
