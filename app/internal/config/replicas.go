// SPDX-License-Identifier: Apache-2.0

package config

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The values of ReplicasConfiguration.Mode.
const (
	ModeSingle  = "single"
	ModeStandby = "standby"
)

// ReplicasConfiguration is the section `replicas`.
type ReplicasConfiguration struct {
	// The work of several servers. `single`: this server is the only one. `standby`: all servers
	// watch and store, one sends spans and notices, and another takes over when it fails. `standby`
	// needs rights on Leases;
	// `lifeline rbac` prints them.
	Mode string `json:"mode"`

	// The name of the Lease that the servers of one installation share.
	Name string `json:"name"`

	// The namespace of the Leases. Empty means the namespace of the server's Pod, or else that of
	// the kubeconfig's context.
	Namespace string `json:"namespace"`

	// The unique name of this server: a DNS label. Empty means the host name, which in a Pod is the
	// name of the Pod.
	Identity string `json:"identity"`

	// How long the other servers wait for a silent server before they take over. Whole seconds,
	// longer than `renewDeadline`.
	LeaseDuration metav1.Duration `json:"leaseDuration"`

	// How long a server tries to renew its Lease before it gives up its role. Longer than 1.2 times
	// `retryPeriod`.
	RenewDeadline metav1.Duration `json:"renewDeadline"`

	// The interval between attempts to acquire or renew a Lease.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
}
