// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/replica"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// member is the part with the server's role among several servers. A single server leads from Start
// on. After the stop another server may take over.
type member struct {
	memberOptions

	leading atomic.Bool

	background
}

// memberOptions configure a member. All are required.
type memberOptions struct {
	Conf config.ReplicasConfiguration
	// Identity is the name of this server in the group, and Namespace the default namespace of the Lease.
	Identity, Namespace string
	Cluster             *rest.Config
	Outbox              *export.Outbox
	// Fresh means that the server began without positions of watches.
	Fresh bool
	// Listed returns the end of the first lists; zero before. Only a fresh server needs it.
	Listed func() time.Time
	// Observed returns the time up to which all changes are observed and stored; zero if unknown.
	Observed func() time.Time
	Now      func() time.Time
	Leader   prometheus.Gauge
	Log      *slog.Logger
	Fail     func(error)
}

func newMember(o memberOptions) *member { return &member{memberOptions: o} }

// single reports whether there are no other servers.
func (m *member) single() bool { return m.Conf.Mode == config.ModeSingle }

// leads reports whether this server sends spans.
func (m *member) leads() bool { return m.leading.Load() }

// tells reports whether this server delivers notices.
func (m *member) tells() bool { return m.single() || m.leads() }

// sends reports whether a finished trace goes to the outbox. A fresh standby has not observed the
// beginning of traces that were open before its first lists. Its version would differ from the
// leader's, so it does not send them.
func (m *member) sends(t *span.Trace) bool {
	if !m.Outbox.Wants() {
		return false
	}
	if m.single() || !m.Fresh || m.leads() {
		return true
	}
	came := m.Listed()
	return !came.IsZero() &&
		!slices.ContainsFunc(t.Spans, func(sp *span.Span) bool { return sp.Start.Before(came) })
}

// Start implements part. It takes part in the election of the sending server.
func (m *member) Start(ctx context.Context) error {
	if m.single() {
		m.lead(true)
		return nil
	}
	leases, err := m.leases()
	if err != nil {
		return err
	}
	m.begin(ctx, func(ctx context.Context) {
		err := replica.Run(ctx, replica.Options{
			Client:    leases,
			Namespace: cmp.Or(m.Conf.Namespace, m.Namespace),
			Name:      m.Conf.Name,
			// Two servers with the same configured name must not both lead.
			Identity:      m.Identity + "_" + rand.Text(),
			LeaseDuration: m.Conf.LeaseDuration.Duration,
			RenewDeadline: m.Conf.RenewDeadline.Duration,
			RetryPeriod:   m.Conf.RetryPeriod.Duration,
			OnLead:        m.lead,
			Delivered:     m.delivered,
			OnDelivered:   m.forget,
			Log:           m.Log,
		})
		if err != nil {
			m.Fail(fmt.Errorf("cannot work with other servers: %w", err))
		}
	})
	return nil
}

// lead starts or stops the sending of spans.
func (m *member) lead(leading bool) {
	m.Outbox.Hold(!leading)
	m.leading.Store(leading)
	value := 0.0
	if leading {
		value = 1
	}
	m.Leader.Set(value)
	if !m.single() {
		m.Log.Info("leadership", "identity", m.Identity, "leading", leading, "waiting", m.Outbox.Stats().Spans)
	}
}

// delivered is the time up to which all changes are stored and delivered; zero while some may be
// unobserved.
func (m *member) delivered() time.Time {
	asOf := m.Observed()
	if asOf.IsZero() {
		return asOf
	}
	if t := m.Outbox.Delivered(); t.Before(asOf) {
		asOf = t
	}
	return asOf.Add(m.ahead())
}

// ahead is the lead of the wall clock over the server's own clock. All servers share the wall
// clock.
func (m *member) ahead() time.Duration { return time.Now().Round(0).Sub(m.Now()) }

// forget drops the entries that another server has delivered.
func (m *member) forget(before time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if err := m.Outbox.Forget(ctx, before.Add(-m.ahead())); err != nil {
		m.Log.Warn("cannot drop the spans that another server has delivered; trying again", errAttr(err))
	}
}

// leases returns the client for Leases. Its requests time out early enough for a retry.
func (m *member) leases() (*coordinationv1.CoordinationV1Client, error) {
	conf := rest.CopyConfig(m.Cluster)
	conf.Timeout = m.Conf.RenewDeadline.Duration / 2
	conf.QPS, conf.Burst = 50, 100 // a throttled renewal would lose the Lease
	client, err := coordinationv1.NewForConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for Leases: %w", err)
	}
	return client, nil
}

// identity is the name of this server in the group.
func replicaIdentity(c config.ReplicasConfiguration) (string, error) {
	if c.Identity != "" {
		return c.Identity, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("cannot name this server: set replicas.identity: %w", err)
	}
	return strings.ToLower(name), nil
}
