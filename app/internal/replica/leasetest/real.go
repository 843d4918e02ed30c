// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"os"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// EnvCluster is the environment variable that enables tests on the cluster of KUBECONFIG.
const EnvCluster = "LIFELINE_SHARD_CLUSTER"

// Real returns a client of the real API server, which several members may share. Without one, it
// skips the test. The end of the test closes its connections.
func Real(t testing.TB) coordinationclient.LeasesGetter {
	t.Helper()
	if os.Getenv(EnvCluster) == "" {
		t.Skipf("needs a cluster: set %s and KUBECONFIG (bin/lab up --nodes none)", EnvCluster)
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
