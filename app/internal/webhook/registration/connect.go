// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// connect returns a client of a cluster, and a function that closes its connections.
func connect(conf *rest.Config) (*kubernetes.Clientset, func(), error) {
	over, err := rest.HTTPClientFor(conf)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfigAndClient(conf, over)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to the cluster: %w", err)
	}
	return client, func() { utilnet.CloseIdleConnectionsFor(over.Transport) }, nil
}
