// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestProgress(t *testing.T) {
	const meta = `"metadata":{"uid":"u","resourceVersion":"1","generation":2,` +
		`"creationTimestamp":"2026-05-04T03:02:01Z"},`
	cases := map[string]struct {
		reason  string
		object  string
		want    observation.Progress
		message string
	}{
		"JobRunning": {
			reason: "a running Job is in progress",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"startTime":"2026-05-04T03:02:01Z","active":1}}`,
			want: observation.ProgressInProgress,
		},
		"JobComplete": {
			reason: "a Job with the condition Complete is current",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"JobFailed": {
			reason: "a failed Job has a message",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"conditions":[{"type":"Failed","status":"True",` +
				`"message":"Job was active longer than specified deadline"}]}}`,
			want:    observation.ProgressFailed,
			message: "Job was active longer than specified deadline",
		},
		"JobSuspended": {
			reason: "a suspended Job needs no more work",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want: observation.ProgressCurrent, message: "suspended",
		},
		"PodUnschedulable": {
			reason: "the verdict must not depend on the Pod's age",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta + `"status":{"phase":"Pending",` +
				`"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`,
			want: observation.ProgressInProgress,
		},
		"PodReady": {
			reason: "a ready Pod is current",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta +
				`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"PodFailed": {
			reason: "a failed Pod has a message",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta +
				`"status":{"phase":"Failed","message":"The node was low on resource: memory."}}`,
			want: observation.ProgressFailed, message: "The node was low on resource: memory.",
		},
		"NotObserved": {
			reason: "the controller has not observed the generation yet",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`,
			want: observation.ProgressInProgress, message: "X generation is 2, but latest observed generation is 1",
		},
		"CustomReady": {
			reason: "kstatus reads the condition Ready of any kind",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"conditions":[{"type":"Ready","status":"False",` +
				`"message":"containers with unready status: [web]"}]}}`,
			want:    observation.ProgressInProgress,
			message: "containers with unready status: [web]",
		},
		"Stalled": {
			reason: "kstatus reads Stalled; an unknown message may quote a value",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"conditions":[{"type":"Stalled","status":"True",` +
				`"reason":"NoQuota","message":"the token is hunter2"}]}}`,
			want:    observation.ProgressFailed,
			message: "NoQuota: (text withheld)",
		},
		"Malformed": {
			reason: "a malformed status means in progress, without an error",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"conditions":"soon"}}`,
			want:   observation.ProgressInProgress,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := normalizer.Object(parse(t, tc.object))
			if s.Progress != tc.want || tc.message != "" && s.ProgressMessage != tc.message {
				t.Errorf("%s: want %s %q, got %s %q", tc.reason, tc.want, tc.message, s.Progress, s.ProgressMessage)
			}
		})
	}
}
