// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// HorizontalPodAutoscaler is the kind HorizontalPodAutoscaler.autoscaling.
var HorizontalPodAutoscaler = Kind{
	Kind:       object.Kind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	Resource:   "horizontalpodautoscalers",
	Short:      "hpa",
	Controller: "horizontal-pod-autoscaler",
	Effects:    []*Kind{&Deployment, &ReplicaSet, &Pod},
	Quiet:      20 * time.Second, // its controller looks every 15 s
	Relations:  []Relation{{object.Target, "spec.scaleTargetRef", nil}},
	Shown:      []string{"spec.minReplicas", "spec.maxReplicas"},
	Attributes: "k8s.hpa.",
}
