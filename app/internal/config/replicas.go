// SPDX-License-Identifier: Apache-2.0

package config

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The values of ReplicasConfiguration.Mode.
const (
	ModeSingle  = "single"
	ModeStandby = "standby"
	ModeShards  = "shards"
)

// ReplicasConfiguration is the section `replicas`.
type ReplicasConfiguration struct {
	// `single`: this server is the only one. `standby`: one of several works, the others take over
	// when it fails. `shards`: the servers divide the namespaces among them. The last two need
	// rights on Leases; `lifeline rbac` prints them.
	Mode string `json:"mode"`

	// The name of the Lease that the servers of one installation have in common; with shards, the
	// beginning of the names.
	Name string `json:"name"`

	// The namespace of the Leases. Empty means the namespace of the Pod that the server runs in, or
	// that of the kubeconfig's context.
	Namespace string `json:"namespace"`

	// The name of this server among them, which no other may have: a DNS label. Empty means the
	// name of the host, which in a Pod is the name of the Pod.
	Identity string `json:"identity"`

	// How long a server that went silent is waited for. Longer than renewDeadline.
	LeaseDuration metav1.Duration `json:"leaseDuration"`

	// How long a server that cannot renew its Lease goes on before it stops working. Longer than
	// 1.2 times retryPeriod.
	RenewDeadline metav1.Duration `json:"renewDeadline"`

	// How often a Lease is renewed, or tried for.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
}
