// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/replica"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// podNamespace is where a Pod finds the namespace that it runs in.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// member is the server as one of several. The zero value is alone.
type member struct {
	identity string
	leading  atomic.Bool
	// came is, for a standby with a new store, when it had seen everything once,
	// in Unix nanoseconds; 0 if its store goes back further.
	came atomic.Int64
	// shards is nil unless the servers divide the namespaces.
	shards *shards
}

// share tells what of the traces is this server's; all of them, unless there are
// shards.
func (m *member) share() share {
	if m.shards == nil {
		return share{}
	}
	return m.shards.share()
}

// wanted tells which namespaces are observed; nil for all.
func (m *member) wanted() func(string) bool {
	if m.shards == nil {
		return nil
	}
	return m.shards.wanted
}

// leasesGetter is the client for Leases.
type leasesGetter = coordinationv1.LeasesGetter

// leads reports whether this server sends spans.
func (m *member) leads() bool { return m.leading.Load() }

// sends reports whether a finished trace is to be sent, by this server or, if that
// stands by, once it leads. Of what was under way when a standby came it has not
// seen the beginning, and would tell it otherwise than the leader, who has.
func (s *server) sends(t *span.Trace) bool {
	came := s.member.came.Load()
	return came == 0 || s.member.leads() ||
		!slices.ContainsFunc(t.Spans, func(sp *span.Span) bool { return sp.Start.UnixNano() < came })
}

// prepare finds out which of several this server is.
func (s *server) prepare(conf *rest.Config) (err error) {
	c := s.conf.Load().Replicas
	if s.member.identity, err = identity(c); err != nil || c.Mode != config.ModeShards {
		return err
	}
	leases, err := s.leases(conf, c)
	if err != nil {
		return err
	}
	s.member.shards, err = newShards(s, leases, cmp.Or(c.Namespace, s.namespace()), c)
	return err
}

// join takes part in what the servers do together. What it returns ends that, and
// waits for it: others may take over.
func (s *server) join(ctx context.Context, conf *rest.Config) (leave func(), err error) {
	c := s.conf.Load().Replicas
	var part func(context.Context) error
	switch c.Mode {
	case config.ModeShards:
		part = s.member.shards.member.Run
	case config.ModeStandby:
		leases, err := s.leases(conf, c)
		if err != nil {
			return nil, err
		}
		part = func(ctx context.Context) error {
			return replica.Run(ctx, replica.Options{
				Client:    leases,
				Namespace: cmp.Or(c.Namespace, s.namespace()),
				Name:      c.Name,
				// Two that were given one name must not both lead.
				Identity:      s.member.identity + "_" + rand.Text(),
				LeaseDuration: c.LeaseDuration.Duration,
				RenewDeadline: c.RenewDeadline.Duration,
				RetryPeriod:   c.RetryPeriod.Duration,
				OnLead:        s.lead,
				Delivered:     s.delivered,
				OnDelivered:   s.forget,
				Log:           s.log,
			})
		}
	default:
		s.lead(true)
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := part(ctx); err != nil {
			s.fail(fmt.Errorf("cannot work with other servers: %w", err))
		}
	}()
	return func() { cancel(); <-done }, nil
}

// lead begins or ends the sending of spans.
func (s *server) lead(leading bool) {
	s.outbox.Hold(!leading)
	s.member.leading.Store(leading)
	value := 0.0
	if leading {
		value = 1
	}
	s.metrics.Leader.Set(value)
	if s.conf.Load().Replicas.Mode != config.ModeSingle {
		s.log.Info("leadership", "identity", s.member.identity, "leading", leading, "waiting", s.outbox.Stats().Spans)
	}
}

// delivered is up to when all that happened was stored and delivered; zero while
// not all of it may have been seen.
func (s *server) delivered() time.Time {
	behind := s.watcher.Stats().Lag
	if s.watching() != nil || s.storing() != nil || behind > 0 {
		return time.Time{}
	}
	var asOf time.Time
	s.state.set(func(st *state) { asOf = st.asOf })
	if t := s.outbox.Delivered(); t.Before(asOf) {
		asOf = t
	}
	return asOf.Add(s.ahead())
}

// ahead is by how much the wall clock, which servers have in common, is ahead of
// this server's own.
func (s *server) ahead() time.Duration { return time.Now().Round(0).Sub(s.clock.Now()) }

// forget drops what another server has delivered.
func (s *server) forget(before time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if err := s.outbox.Forget(ctx, before.Add(-s.ahead())); err != nil {
		s.log.Warn("cannot drop what another server has delivered; trying again", errAttr(err))
	}
}

// leases is the client for Leases. Its requests end in time to try again.
func (s *server) leases(
	conf *rest.Config,
	c config.ReplicasConfiguration,
) (*coordinationv1.CoordinationV1Client, error) {
	conf = rest.CopyConfig(conf)
	conf.Timeout = c.RenewDeadline.Duration / 2
	conf.QPS, conf.Burst = 50, 100 // a Lease that waits for its turn is lost
	client, err := coordinationv1.NewForConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for Leases: %w", err)
	}
	return client, nil
}

// namespace is where Leases are if the configuration does not say.
func (s *server) namespace() string {
	if data, err := os.ReadFile(podNamespace); err == nil {
		return strings.TrimSpace(string(data))
	}
	return cmp.Or(s.opts.Namespace, "default")
}

// identity is the name of this server among others.
func identity(c config.ReplicasConfiguration) (string, error) {
	if c.Identity != "" {
		return c.Identity, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("cannot name this server: set replicas.identity: %w", err)
	}
	return strings.ToLower(name), nil
}
