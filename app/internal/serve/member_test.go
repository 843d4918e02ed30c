// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// heldOutbox returns an outbox that holds its entries, with or without a destination.
func heldOutbox(t *testing.T, endpoint string) *export.Outbox {
	t.Helper()
	out, err := export.OpenOutbox(t.Context(), export.OutboxOptions{
		Options: export.Options{Endpoint: endpoint}, Log: newWorldOver(t, t.TempDir(), nil).Journal, Hold: true,
	})
	must(t, err)
	t.Cleanup(func() { _ = out.Close(context.WithoutCancel(t.Context())) })
	return out
}

// TestMemberSends: a standby that began after a trace has another version of it than the leader.
func TestMemberSends(t *testing.T) {
	listed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const nowhere = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		reason         string
		endpoint, mode string
		fresh, leads   bool
		listed         time.Time
		began          time.Duration // of the trace, after the first lists
		want           bool
	}{
		"no backend": {"nothing can be sent", "", config.ModeSingle, false, true, listed, 0, false},
		"single":     {"there is no other server", nowhere, config.ModeSingle, true, true, time.Time{}, 0, true},
		"standby":    {"it resumed its watches", nowhere, config.ModeStandby, false, false, time.Time{}, -1, true},
		"before":     {"its beginning was not observed", nowhere, config.ModeStandby, true, false, listed, -1, false},
		"after":      {"it was observed completely", nowhere, config.ModeStandby, true, false, listed, 1, true},
		"listing":    {"the lists are incomplete", nowhere, config.ModeStandby, true, false, time.Time{}, 1, false},
		"leader":     {"no other server sends it", nowhere, config.ModeStandby, true, true, listed, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(memberOptions{
				Conf: config.ReplicasConfiguration{Mode: tc.mode}, Outbox: heldOutbox(t, tc.endpoint), Fresh: tc.fresh,
				Listed: func() time.Time { return tc.listed },
			})
			m.leading.Store(tc.leads)
			began := &span.Span{Start: span.Time{Time: listed.Add(tc.began)}}
			if got := m.sends(&span.Trace{Spans: []*span.Span{began}}); got != tc.want {
				t.Errorf("sends is %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestMemberAlone: a single server leads from its start on.
func TestMemberAlone(t *testing.T) {
	leader := prometheus.NewGauge(prometheus.GaugeOpts{Name: "leader"})
	m := newMember(memberOptions{
		Conf: config.ReplicasConfiguration{Mode: config.ModeSingle}, Outbox: heldOutbox(t, ""), Leader: leader,
		Log: slog.New(slog.DiscardHandler),
	})
	must(t, m.Start(t.Context()))
	if !m.leads() || !m.tells() || m.Outbox.Stats().Holding || testutil.ToFloat64(leader) != 1 {
		t.Errorf("it does not lead: %+v", m.Outbox.Stats())
	}
	must(t, m.Stop())
}

// TestDelivered: others drop spans only up to a time to which everything is observed, stored and sent.
func TestDelivered(t *testing.T) {
	now := time.Now()
	observed := time.Time{}
	m := newMember(memberOptions{
		Outbox: heldOutbox(t, ""), Now: func() time.Time { return now }, Observed: func() time.Time { return observed },
	})
	if got := m.delivered(); !got.IsZero() {
		t.Errorf("unknown: got %s", got)
	}
	observed = now.Add(-time.Minute)
	if late := m.delivered().Sub(observed); late < 0 || late > time.Minute/2 {
		t.Errorf("delivered is %s after the time of the stored traces", late)
	}
}
