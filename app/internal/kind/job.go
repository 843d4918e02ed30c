// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Job is the kind Job.batch.
var Job = Kind{
	Kind:       object.Kind{Group: "batch", Version: "v1", Kind: "Job"},
	Resource:   "jobs",
	Controller: "job-controller",
	Owner:      true,
	Effects:    []*Kind{&Pod},
	Relations:  configRelations("spec.template"),
	Replicas:   JobCounts,
	Parts: []Field{
		{"spec.template", Template}, {"spec.suspend", Template}, // a suspended Job has no Pods
		{"spec.parallelism", Scale}, {"spec.completions", Scale},
	},
	Shown: shownOfTemplate(
		"spec.suspend", "spec.managedBy", "spec.parallelism", "spec.completions", "spec.backoffLimit",
	),
	Progress:   true,
	Attributes: "k8s.job.",
}
