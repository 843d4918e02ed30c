// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// HorizontalPodAutoscaler is the kind HorizontalPodAutoscaler.autoscaling.
var HorizontalPodAutoscaler = Kind{
	Kind:       object.Kind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	Resource:   "horizontalpodautoscalers",
	Short:      "hpa",
	Controller: "horizontal-pod-autoscaler",
	Effects:    []*Kind{&Deployment, &ReplicaSet, &Pod},
	Attributes: "k8s.hpa.",
}
