// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// QueueLabel is the label of an object with the name of its queue of Kueue.
const QueueLabel = "kueue.x-k8s.io/queue-name"

// Workload is the kind Workload of Kueue: the resources that a Job asks a queue for.
var Workload = Kind{
	Kind:     object.Kind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "Workload"},
	Resource: "workloads",
	Short:    "wl",
	Progress: true,
	Goals:    []string{"QuotaReserved", "Admitted"},
}
