// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestOnARealCluster lets one replica take over from another that stops, on the API server of
// KUBECONFIG. It needs LIFELINE_LEASE_CLUSTER=1.
func TestOnARealCluster(t *testing.T) {
	client := realClient(t)
	const name = "replica-test"
	begin := func(identity string) (leads chan bool, told chan time.Time, stop func()) {
		leads, told = make(chan bool, 10), make(chan time.Time, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, Options{
				Client: client, Namespace: "default", Name: name, Identity: identity,
				LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
				OnLead: func(l bool) { leads <- l }, Delivered: time.Now, OnDelivered: func(at time.Time) {
					told <- at
				},
			})
		}()
		return leads, told, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	await := func(leads chan bool, want bool) {
		t.Helper()
		began := time.Now()
		select {
		case got := <-leads:
			if got != want {
				t.Fatalf("leading is %t, want %t", got, want)
			}
			t.Logf("leading is %t after %s", want, time.Since(began).Round(time.Millisecond))
		case <-time.After(30 * time.Second):
			t.Fatal("leadership does not change")
		}
	}
	a, _, stopA := begin("a")
	await(a, true)
	b, told, stopB := begin("b")
	select {
	case at := <-told:
		if since := time.Since(at); since < Margin {
			t.Errorf("the standby believes that was delivered what was queued %s ago", since)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the standby is not told what was delivered")
	}
	stopA()
	await(a, false)
	await(b, true)
	stopB()
	await(b, false)
	for _, lease := range []string{name, name + "-delivered"} {
		if err := client.Leases("default").Delete(context.Background(), lease, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// envCluster is the environment variable that enables tests on the cluster of KUBECONFIG.
const envCluster = "LIFELINE_LEASE_CLUSTER"

// realClient returns a client of the real API server. Without one, it skips the test. The end of
// the test closes its connections.
func realClient(t *testing.T) coordinationclient.LeasesGetter {
	t.Helper()
	if os.Getenv(envCluster) == "" {
		t.Skipf("needs a cluster: set %s and KUBECONFIG (bin/lab up --nodes none)", envCluster)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 100
	over, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(over.Transport) })
	client, err := coordinationclient.NewForConfigAndClient(config, over)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
