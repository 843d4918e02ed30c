// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// base is what every server has, with or without a cluster.
type base struct {
	log     *slog.Logger
	version string
	// freePort and opened are those of Options.
	freePort bool
	opened   func(url string)
	settings *settings
	registry *prometheus.Registry
	health   *telemetry.Health
	cluster  *connector
}

func newBase(o Options) (*base, error) {
	out := io.Writer(os.Stderr)
	if o.Log != nil {
		out = o.Log
	}
	log, level, err := telemetry.NewLogger(out, o.Config.Log.Level, o.Config.Log.Format)
	if err != nil {
		return nil, err
	}
	b := &base{
		log: log, version: cmp.Or(o.Version, "devel"), registry: telemetry.NewRegistry(), health: &telemetry.Health{},
		freePort: o.FreePort, opened: o.Opened,
	}
	b.settings = newSettings(o, log, level, b.registry)
	b.cluster = &connector{reach: o.Connect, version: b.version, fallback: o.Namespace, log: log}
	telemetry.RouteKlog(log)
	slog.SetDefault(log) // for code without a logger of its own
	return b, nil
}

// server is `lifeline serve`. It has what exists before the parts start: the reports of the parts for
// health, metrics and the API.
type server struct {
	*base

	metrics   *metrics
	hub       api.Hub
	progress  *progress
	watch     *readiness
	losses    *losses
	changes   *notice.Counts
	joined    *joinedCounts
	relations *relations
	problems  api.ProblemHub
	slower    latestReport
	// running has the parts that need the cluster, once all of them have started.
	running atomic.Pointer[clusterParts]
}

// clusterParts are the parts of a server that need the cluster.
type clusterParts struct {
	storage   *storage
	delivery  *delivery
	noticing  *noticing
	watching  *watching
	receiving *receiving
	auditing  *auditing
	rights    *rights
}

// of returns a function that reads from the running parts. Before their start it returns the zero value.
func of[T any](s *server, read func(*clusterParts) T) func() T {
	return func() (out T) {
		if p := s.running.Load(); p != nil {
			out = read(p)
		}
		return out
	}
}

func newServer(o Options) (*server, error) {
	b, err := newBase(o)
	if err != nil {
		return nil, err
	}
	if fields := o.Config.Confidential(); len(fields) > 0 {
		b.log.Warn("traces show values that may be confidential (showValues)", "fields", strings.Join(fields, ", "))
	}
	s := &server{
		base:      b,
		progress:  &progress{log: b.log},
		watch:     &readiness{waitsFor: "the API server"},
		changes:   &notice.Counts{},
		joined:    &joinedCounts{},
		relations: &relations{declared: o.Config.Declared()},
	}
	s.metrics = newMetrics(b.registry, s.counts())
	s.losses = &losses{log: b.log, count: s.metrics.storage.lost}
	return s, nil
}

// counts returns the counts of the parts.
func (s *server) counts() counts {
	return counts{
		spans:   of(s, func(p *clusterParts) otlp.Stats { return p.receiving.stats() }),
		audit:   of(s, func(p *clusterParts) []audit.Stats { return p.auditing.stats() }),
		outbox:  of(s, func(p *clusterParts) export.OutboxStats { return p.delivery.outbox.Stats() }),
		notices: of(s, func(p *clusterParts) []notice.Stats { return p.noticing.stats() }),
		changes: s.changes,
		archive: of(s, func(p *clusterParts) archive.Stats { return p.storage.archive.Stats() }),
		stored: func(ctx context.Context) (store.Stats, error) {
			if p := s.running.Load(); p != nil {
				return p.storage.view.Stats(ctx, store.Scope{})
			}
			return store.Stats{}, nil
		},
		watch:     of(s, func(p *clusterParts) *watchCounts { return p.watching.counts() }),
		joined:    s.joined,
		relations: s.relations,
		now:       of(s, func(p *clusterParts) time.Time { return p.storage.clock.Now() }),
	}
}

// newEntrance returns the parts that answer before the cluster is reached. It adds all checks of
// health.
func (s *server) newEntrance(fail func(error)) (*entrance, error) {
	c := s.settings.Load()
	g := &gate{metrics: s.metrics.api, page: newPage(c.API.Address, s.metrics.api, s.log)}
	people, err := newAPIListener(c.API, g, s.log, fail)
	if err != nil {
		return nil, err
	}
	people.freePort = s.freePort
	s.health.Live("loop", s.progress.alive)
	blind := of(s, func(p *clusterParts) error { return p.watching.check() })
	s.health.Ready("watch", func() error { return cmp.Or(s.watch.check(), blind()) })
	s.health.Ready("store", s.progress.storing)
	s.health.Ready("API", g.answering)
	s.health.Note("stored traces", s.losses.check)
	s.health.Note("archive", of(s, func(p *clusterParts) error { return p.storage.opener.check() }))
	s.health.Note("API server", of(s, func(p *clusterParts) error { return p.watching.reaching() }))
	if byRights(&c.API) {
		s.health.Note("rights", of(s, func(p *clusterParts) error { return p.rights.check() }))
	}
	s.health.Note("backend", of(s, func(p *clusterParts) error { return undelivered(p.delivery.outbox.Stats()) }))
	return &entrance{
		gate: g, people: people, unguarded: !byRights(&c.API) && c.API.TokenFile == "", opened: s.opened, log: s.log,
		scrapers:  newTelemetryListener(c.Telemetry, s.registry, s.health, s.log, fail),
		admitting: newAdmitting(s.settings, s.cluster, s.registry, s.log, fail),
	}, nil
}
