// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// run starts the parts in order, waits for the end, and stops them in reverse order.
func (s *server) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(err error) { cancel(err) }
	e, err := s.newEntrance(fail)
	if err != nil {
		return err
	}
	var up parts
	defer func() { err = errors.Join(err, up.stop()) }()
	if err := e.start(ctx, &up, s.version); err != nil {
		return err
	}
	conf, cluster, err := s.cluster.identify(ctx)
	if err == nil {
		err = s.compose(ctx, &up, fail, e, conf, cluster)
	}
	if err != nil {
		return over(ctx, err)
	}
	<-ctx.Done()
	s.log.Info("lifeline serve stops and stores its observations")
	return over(ctx, nil)
}

// over returns the error of a run whose context has ended: nil after a regular end.
func over(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			return nil
		}
		return cause
	}
	return err
}

// compose builds and starts the parts that need the cluster, in the order of data in
// docs/architecture.md. It starts no part before the parts that it uses. So they stop in the
// order in which nothing is lost.
func (s *server) compose(
	ctx context.Context, up *parts, fail func(error), e *entrance, conf *rest.Config, cluster string,
) error {
	c := s.settings.Load()
	name, err := replicaIdentity(c.Replicas)
	if err != nil {
		return err
	}

	joining := newJoining(c, s.joined)
	storage, err := openStorage(ctx, s.storageOptions(c, cluster, joining))
	if err != nil {
		return err
	}
	// The journal and the archive's writer end last: the last look is a part of both.
	if err := up.start(ctx, storage, &addressFile{dir: storage.dir, url: e.people.url()}); err != nil {
		return err
	}
	now, recorder := storage.clock.Now, storage.recorder.recorder

	// Delivery ends after the loop, too: it sends the traces of the last look.
	delivery := newDelivery(c, cluster, storage.journal, now, s.log)
	if err := up.start(ctx, delivery); err != nil {
		return err
	}
	maintaining := newMaintaining(&maintenance.Local{
		UID: cluster, Dir: storage.dir, Archive: storage.archive.Archive, Log: storage.archive,
		Journal: storage.journal, Outbox: delivery.outbox,
		Limits: limits(s.settings, now),
	}, s.version, s.log)

	in := newIntake()
	watching, err := newWatching(s.watchConfig(c, conf, storage), c.Watch.Namespaces, in, s.watch, s.log, fail)
	if err != nil {
		return err
	}
	member := newMember(memberOptions{
		Conf: c.Replicas, Identity: name, Namespace: s.cluster.namespace(), Cluster: conf, Outbox: delivery.outbox,
		Fresh: len(recorder.at) == 0, Listed: s.watch.listed, Observed: s.observed(watching),
		Now: now, Leader: s.metrics.leader, Log: s.log, Fail: fail,
	})
	noticing := newNoticing(&c.Notices, cluster, recorder.Notices, member.tells, s.log, fail)

	// The loop looks at the recorder, whose looks depend on the parts above.
	tally := received.New(now())
	publishing := &publishing{
		view: storage.view, consumers: []consumer{storage.archive, delivery.outbox}, hub: &s.hub,
		progress: s.progress, metrics: s.metrics.loop, now: now,
	}
	recorder.Waits, recorder.Sends, recorder.Tells, recorder.Now = watching.late, member.sends, member.tells, now
	recorder.Opened, recorder.Differs, recorder.Stored = e.admitting.publisher(), s.differs, publishing.stored
	recorder.Problems = s.problems.Publish
	if joining != nil {
		joining.handedOut = tally.Joined
		if delivery.passes {
			joining.pass = delivery.pass
		}
	}
	loop := newLoop(in, recorder, loopOptions{
		Now: now, Flush: watching.watcher.Flush, Received: tally, Delayed: storage.view.Delayed,
		Related: s.relations.found, Progress: s.progress, Metrics: s.metrics.loop,
		Errors: s.metrics.storage.errors, Log: s.log,
	})

	receiving := newReceiving(c.Receivers.OTLP, in, s.log, fail)
	source := audit.Config{Exclude: c.Watch.Excluded(), Kind: watching.watcher.KindOf, Now: now}
	source.Refusals.Messages, source.Refusals.Memory = c.MessageModes(), recorder.values
	auditing := newAuditing(c.Receivers.Audit, source, in, storage.journal, s.log, fail)
	auditing.listed, auditing.watches, auditing.discovered = s.watch.listed, watching.watches, watching.discovered
	if err := auditing.locate(ctx); err != nil {
		return fmt.Errorf("%w (receivers.audit.logFile)", err)
	}
	announced := newAnnounced(member.single(), in, storage.view, now, fail, recorder.engine.Running()...)

	visible := store.NewGate(storage.view, storage.view.Project)
	access := open(visible)
	var byRight *rights
	if byRights(&c.API) {
		own := s.cluster.namespace()
		byRight, err = newRights(&c.API, conf, own, visible, storage.view.Namespaces, s.settings, fail)
		if err != nil {
			return err
		}
		access = byRight.permitting.access
	}
	answers, err := newAnswers(c.API, access, &s.hub, &s.problems, announced, s.metrics.api, s.log, &about{
		version: s.version, cluster: cluster, settings: s.settings, progress: s.progress, watch: s.watch,
		received: tally, joined: s.joined, relations: s.relations, now: now,
		watches: watching.watcher.Stats, member: member, receiving: receiving, auditing: auditing,
		slower: s.slower.Load,
	})
	if err != nil {
		return err
	}
	byRight.behind(e.gate, answers, kubeapi.Options{AsOf: s.hub.AsOf})
	all := visible.For(store.Scope{})
	noticing.completes(func(ctx context.Context, c problem.Cause) problem.Cause {
		return answers.CompleteCause(ctx, all, c)
	})
	regressing := &regressing{
		settings: s.settings, now: now, wait: pauseFor, log: s.log,
		compute: func(ctx context.Context, since, until time.Time) (*shift.Report, error) {
			return api.Regressions(ctx, storage.view, since, until)
		},
		publish: func(r *shift.Report) {
			s.slower.Store(r)
			s.changes.Report(r)
			if r != nil && recorder.Notices != nil {
				recorder.Notices.Report(r)
			}
		},
	}
	retention := &retention{
		settings: s.settings, journal: storage.journal, archive: storage.archive, now: now,
		errors: s.metrics.storage.errors, log: s.log,
	}
	salvages := newSalvages(storage.journal, storage.archive, now, s.log)
	completion := newCompletion(storage.journal, storage.archive, delivery.outbox, now, s.log)
	if err := up.start(ctx,
		maintaining, noticing,
		// The loop outlives its sources, and stores their last data. Leadership ends before the last
		// look: another server may send from there on.
		loop, watching, member, receiving, auditing, announced,
		&task{name: "API", fail: fail, run: func(ctx context.Context) error {
			return e.open(ctx, byRight.guard(answers), storage.archive.Opened(), storage.view.Begun())
		}},
		byRight,
		&task{name: "retention", run: retention.run, fail: fail},
		&task{name: "regressions", run: regressing.run, fail: fail},
		&task{name: "salvage", run: salvages.run, fail: fail},
		&task{name: "journal", run: completion.run, fail: fail},
		&task{name: "configuration", fail: fail, run: func(ctx context.Context) error {
			return s.settings.follow(ctx, func(c *config.ServerConfiguration) {
				delivery.reconfigure(c)
				watching.watcher.SetHealth(c.HealthRules())
			})
		}},
	); err != nil {
		return err
	}
	s.running.Store(&clusterParts{storage, delivery, noticing, watching, receiving, auditing, byRight})
	return nil
}

// storageOptions returns the options of the storage. compose sets the functions of the recorder
// that its looks call.
func (s *server) storageOptions(c *config.ServerConfiguration, cluster string, j *joining) *storageOptions {
	settle := c.Engine.Settle.Duration
	if receivesSpans(c) || receivesAudit(c) {
		settle = max(settle, joinSettle)
	}
	return &storageOptions{
		DataDir: c.DataDir, Cluster: cluster,
		Recorder: recorderOptions{
			Engine: lifecycle.Options{
				Cluster: cluster, Settle: settle, Patience: c.Engine.Patience.Duration,
				Aftermath: c.Engine.Aftermath.Duration,
			},
			Relations: s.relations.declared, Sampling: s.settings.sampling, Joining: j, Counts: s.changes,
			Warn: s.log.Warn,
		},
		Notices: &c.Notices,
		Losses:  s.losses, Metrics: s.metrics.storage, Archive: s.metrics.archive, Log: s.log,
	}
}

// watchConfig returns the configuration of the watches. They resume at the recorder's positions, and
// compare lists with the engine's objects.
func (s *server) watchConfig(c *config.ServerConfiguration, conf *rest.Config, from *storage) watch.Config {
	r := from.recorder.recorder
	return watch.Config{
		REST:      conf,
		Key:       r.digestKey,
		Reload:    s.cluster.connect,
		Exclude:   c.Watch.Excluded(),
		Relations: s.relations.declared,
		Shown:     c.Shown(),
		Labels:    c.Labels,
		Messages:  c.MessageModes(),
		Memory:    r.values,
		Health:    c.HealthRules(),
		Signals:   r.signals,
		Now:       from.clock.Now,
		Resume:    r.positions(),
		// A copy: the loop changes the engine meanwhile.
		Known: maps.All(maps.Collect(r.engine.Objects())),
	}
}

// observed returns a function with the time up to which all changes are observed and stored; zero
// while some may be unobserved.
func (s *server) observed(w *watching) func() time.Time {
	return func() time.Time {
		if w.watcher.Stats().Lag > 0 || w.check() != nil || s.progress.storing() != nil {
			return time.Time{}
		}
		return s.progress.stored()
	}
}

// differs reports open traces that differ from a derivation from nothing.
func (s *server) differs(ids []trace.TraceID) {
	s.metrics.loop.differences.Add(float64(len(ids)))
	if len(ids) > 0 {
		s.log.Error("open traces differ from those of a derivation from nothing; please report this",
			"traces", len(ids), "first", ids[0].String())
	}
}
