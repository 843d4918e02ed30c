// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// CronJob is the kind CronJob.batch.
var CronJob = Kind{
	Kind:       object.Kind{Group: "batch", Version: "v1", Kind: "CronJob"},
	Resource:   "cronjobs",
	Short:      "cj",
	Controller: "cronjob-controller",
	Owner:      true,
	Effects:    []*Kind{&Job, &Pod},
	Relations:  configRelations("spec.jobTemplate.spec.template"),
	Shown: append(
		[]string{"spec.schedule", "spec.timeZone", "spec.suspend", "spec.concurrencyPolicy"},
		shownOfPods("spec.jobTemplate.spec.template.")...,
	),
	Progress:   true,
	Schedule:   true,
	Attributes: "k8s.cronjob.",
}
