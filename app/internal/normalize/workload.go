// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Node labels that the spans of its Pods show.
const (
	labelRegion       = "topology.kubernetes.io/region"
	labelZone         = "topology.kubernetes.io/zone"
	labelInstanceType = "node.kubernetes.io/instance-type"
)

// poolLabels are the labels of providers with the pool of a Node. The first one that a Node has counts.
var poolLabels = []string{
	"karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
	"kubernetes.azure.com/agentpool", "node.kubernetes.io/nodepool",
}

// annotationRevision is the revision number of a Deployment's template.
const annotationRevision = "deployment.kubernetes.io/revision"

// workload returns the progress of a controller of Pods, or nil for another kind.
func workload(obj fields, gk schema.GroupKind) *observation.Workload {
	spec, status := sub(obj, "spec"), sub(obj, "status")
	switch kind.Of(gk.Group, gk.Kind).Replicas {
	case kind.ReplicaCounts:
		return &observation.Workload{
			Replicas:     count(numberOr(spec, "replicas", 1)),
			Paused:       truth(spec, "paused"),
			Total:        count(number(status, "replicas")),
			Updated:      count(number(status, "updatedReplicas")),
			Ready:        count(number(status, "readyReplicas")),
			Available:    count(number(status, "availableReplicas")),
			HistoryLimit: count(number(spec, "revisionHistoryLimit")),
			Revision:     word(sub(sub(obj, "metadata"), "annotations"), annotationRevision),
			Complete:     complete(items(status, "conditions")),
		}
	case kind.NodeCounts:
		return &observation.Workload{
			Replicas:  count(number(status, "desiredNumberScheduled")),
			Total:     count(number(status, "currentNumberScheduled")),
			Updated:   count(number(status, "updatedNumberScheduled")),
			Ready:     count(number(status, "numberReady")),
			Available: count(number(status, "numberAvailable")),
		}
	case kind.JobCounts:
		return &observation.Workload{Replicas: count(jobSlots(spec)), Total: count(number(status, "active"))}
	}
	return nil
}

// jobSlots returns the number of slots for the Pods of a Job: one for each completion index, or else
// one for each Pod that may run at the same time.
func jobSlots(spec fields) int64 {
	parallelism, completions := numberOr(spec, "parallelism", 1), number(spec, "completions")
	switch {
	case truth(spec, "suspend"):
		return 0
	case raw(spec, "completionMode") == "Indexed":
		return completions
	case completions > 0:
		return min(parallelism, completions)
	}
	return parallelism
}

// complete returns when the rollout of a Deployment was complete, by its condition Progressing, or
// zero. The status of the condition has been True since the rollout began.
func complete(conditions []any) time.Time {
	for _, item := range conditions {
		if m, _ := item.(fields); raw(m, "type") == "Progressing" && raw(m, "reason") == "NewReplicaSetAvailable" {
			return moment(m, "lastUpdateTime")
		}
	}
	return time.Time{}
}

func count(n int64) int32 {
	return int32(n) //nolint:gosec // an int32 in the API
}

func node(obj fields) *observation.Node {
	labels := sub(sub(obj, "metadata"), "labels")
	info := sub(sub(obj, "status"), "nodeInfo")
	return &observation.Node{
		Region:       word(labels, labelRegion),
		Zone:         word(labels, labelZone),
		InstanceType: word(labels, labelInstanceType),
		ProviderID:   text(sub(obj, "spec"), "providerID"),
		Runtime:      word(info, "containerRuntimeVersion"),
		Kubelet:      word(info, "kubeletVersion"),
		Pool:         pool(labels),
	}
}

func pool(labels fields) string {
	for _, label := range poolLabels {
		if name := word(labels, label); name != "" {
			return name
		}
	}
	return ""
}
