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

// podNamespace is the file with a Pod's namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// member is the server's role among several servers. The zero value is a single server.
type member struct {
	identity string
	leading  atomic.Bool
	// came is the end of the first lists of a standby with a new store, in Unix nanoseconds; 0 for
	// an older store.
	came atomic.Int64
}

// leads reports whether this server sends spans.
func (m *member) leads() bool { return m.leading.Load() }

// sends reports whether a finished trace goes to the outbox. A new standby has not observed the
// beginning of open traces. Its version would differ from the leader's, so it does not send them.
func (s *server) sends(t *span.Trace) bool {
	came := s.member.came.Load()
	return s.outbox.Wants() && (came == 0 || s.member.leads() ||
		!slices.ContainsFunc(t.Spans, func(sp *span.Span) bool { return sp.Start.UnixNano() < came }))
}

// join takes part in the election of the sending server. A single server sends at once. The
// returned function ends the part and waits: another server may then take over.
func (s *server) join(ctx context.Context, conf *rest.Config) (leave func(), err error) {
	c := s.conf.Load().Replicas
	if c.Mode == config.ModeSingle {
		s.lead(true)
		return func() {}, nil
	}
	leases, err := s.leases(conf, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := replica.Run(ctx, replica.Options{
			Client:    leases,
			Namespace: cmp.Or(c.Namespace, s.namespace()),
			Name:      c.Name,
			// Two servers with the same configured name must not both lead.
			Identity:      s.member.identity + "_" + rand.Text(),
			LeaseDuration: c.LeaseDuration.Duration,
			RenewDeadline: c.RenewDeadline.Duration,
			RetryPeriod:   c.RetryPeriod.Duration,
			OnLead:        s.lead,
			Delivered:     s.delivered,
			OnDelivered:   s.forget,
			Log:           s.log,
		})
		if err != nil {
			s.fail(fmt.Errorf("cannot work with other servers: %w", err))
		}
	}()
	return func() { cancel(); <-done }, nil
}

// lead starts or stops the sending of spans.
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

// delivered is the time up to which all changes are stored and delivered; zero while some may be
// unobserved.
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

// ahead is the lead of the wall clock over the server's own clock. All servers share the wall
// clock.
func (s *server) ahead() time.Duration { return time.Now().Round(0).Sub(s.clock.Now()) }

// forget drops the entries that another server has delivered.
func (s *server) forget(before time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if err := s.outbox.Forget(ctx, before.Add(-s.ahead())); err != nil {
		s.log.Warn("cannot drop the spans that another server has delivered; trying again", errAttr(err))
	}
}

// leases returns the client for Leases. Its requests time out early enough for a retry.
func (s *server) leases(
	conf *rest.Config,
	c config.ReplicasConfiguration,
) (*coordinationv1.CoordinationV1Client, error) {
	conf = rest.CopyConfig(conf)
	conf.Timeout = c.RenewDeadline.Duration / 2
	conf.QPS, conf.Burst = 50, 100 // a throttled renewal would lose the Lease
	client, err := coordinationv1.NewForConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for Leases: %w", err)
	}
	return client, nil
}

// namespace is the default namespace of Leases.
func (s *server) namespace() string {
	if data, err := os.ReadFile(podNamespace); err == nil {
		return strings.TrimSpace(string(data))
	}
	return cmp.Or(s.opts.Namespace, "default")
}

// identity is the name of this server in the group.
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
