// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// schedule is the reason of a CronJob or a Job that starts nothing. The newest Event about a start
// counts.
func schedule(v *history.Version, events []*history.Event) Reason {
	cron := kind.CronJob.Is(v.Kind)
	if !cron && !kind.Job.Is(v.Kind) {
		return Reason{}
	}
	const field = "spec.suspend"
	if l := v.Field(field); l != nil && l.Shown == "true" {
		return Reason{
			Category: Suspended, Text: "is suspended", For: "the end of its suspension", Fields: []Field{{Path: field}},
		}
	}
	e := newest(events, "SuccessfulCreate", failedCreate, "MissSchedule", "TooManyMissedTimes", "JobAlreadyActive")
	if !cron || e == nil {
		return Reason{}
	}
	why := explained(e.Reason, e.Note)
	switch e.Reason {
	case failedCreate:
		return uncreated("Jobs", creation(why))
	case "JobAlreadyActive":
		return Reason{
			Category: StartForbidden, For: "the end of its last Job",
			Text: "does not start a Job: the last one still runs, and its policy forbids another one",
		}
	case "MissSchedule", "TooManyMissedTimes":
		return Reason{Category: StartMissed, Text: "has missed a start: " + why, For: "its next start"}
	}
	return Reason{}
}
