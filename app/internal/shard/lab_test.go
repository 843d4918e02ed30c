// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/replica/leasetest"
)

// TestOnARealCluster lets three members join, one leave and one crash, on the API server of
// KUBECONFIG. It needs LIFELINE_SHARD_CLUSTER=1.
func TestOnARealCluster(t *testing.T) {
	client := leasetest.Real(t)
	const name = "shard-test"
	start := func(identity string, grace time.Duration) (*Member, func() error) {
		var rv atomic.Uint64
		m, err := New(Options{
			Client: client, Namespace: "default", Name: name, Identity: identity, Grace: grace,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)).With("member", identity),
			Hooks: Hooks{
				OnView:   func(View) {},
				Ready:    func(View) bool { return true },
				Seen:     func() uint64 { return rv.Add(1) },
				Open:     func() uint64 { return rv.Load() + 1_000_000 },
				Complete: rv.Load,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		return m, func() error { cancel(); return <-ended }
	}
	stands := func(m *Member, want ...string) {
		t.Helper()
		began := time.Now()
		for {
			table := m.View().Table()
			if n := len(table.Epochs); m.View().Valid() && n == 1 && table.Pending == nil &&
				slices.Equal(table.Epochs[0].live(), want) {
				t.Logf("%v after %s, version %d", want, time.Since(began).Round(time.Millisecond), table.Version)
				return
			}
			if time.Since(began) > 30*time.Second {
				t.Fatalf("the group does not become %v: %s", want, short(table))
			}
			time.Sleep(20 * time.Millisecond) // a deadline bounds it
		}
	}
	a, stopA := start("a", time.Minute)
	stands(a, "a")
	b, crashB := start("b", 0)
	stands(b, "a", "b")
	c, stopC := start("c", time.Minute)
	stands(a, "a", "b", "c")
	stands(c, "a", "b", "c")
	if err := stopA(); err != nil {
		t.Error(err)
	}
	stands(c, "b", "c")
	if err := crashB(); err != nil {
		t.Error(err)
	}
	stands(c, "c")
	if err := stopC(); err != nil {
		t.Error(err)
	}
	if err := client.Leases("default").DeleteCollection(
		context.Background(),
		metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: LabelGroup + "=" + name},
	); err != nil {
		t.Error(err)
	}
}
