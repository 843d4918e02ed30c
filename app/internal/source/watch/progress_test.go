// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestProgress(t *testing.T) {
	const meta = `"metadata":{"uid":"u","resourceVersion":"1","generation":2,"creationTimestamp":"2026-05-04T03:02:01Z"},`
	cases := map[string]struct {
		reason  string
		object  string
		want    observation.Progress
		message string
	}{
		"JobRunning": {
			reason: "a Job that runs has not reached anything",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta + `"status":{"startTime":"2026-05-04T03:02:01Z","active":1}}`,
			want:   observation.ProgressInProgress,
		},
		"JobComplete": {
			reason: "a Job is done when it says so",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta + `"status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
			want:   observation.ProgressCurrent,
		},
		"JobFailed": {
			reason: "a failed Job says why",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta + `"status":{"conditions":[{"type":"Failed","status":"True","message":"deadline"}]}}`,
			want:   observation.ProgressFailed, message: "deadline",
		},
		"JobSuspended": {
			reason: "a suspended Job waits for nobody in the cluster",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta + `"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want:   observation.ProgressCurrent, message: "suspended",
		},
		"PodUnschedulable": {
			reason: "the verdict must not depend on how old the Pod is by now",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta + `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`,
			want:   observation.ProgressInProgress,
		},
		"PodReady": {
			reason: "a Pod that is ready has arrived",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta + `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
			want:   observation.ProgressCurrent,
		},
		"PodFailed": {
			reason: "a Pod that failed says why",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta + `"status":{"phase":"Failed","message":"evicted"}}`,
			want:   observation.ProgressFailed, message: "evicted",
		},
		"NotObserved": {
			reason: "a controller that has not seen the generation has not acted on it",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`,
			want:   observation.ProgressInProgress, message: "X generation is 2, but latest observed generation is 1",
		},
		"CustomReady": {
			reason: "kstatus knows Ready of any kind",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"conditions":[{"type":"Ready","status":"False","message":"waiting"}]}}`,
			want:   observation.ProgressInProgress, message: "waiting",
		},
		"Stalled": {
			reason: "and Stalled",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"conditions":[{"type":"Stalled","status":"True","message":"no quota"}]}}`,
			want:   observation.ProgressFailed, message: "no quota",
		},
		"Malformed": {
			reason: "a status that cannot be read is no reason to stop, nor to say that all is well",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"conditions":"soon"}}`,
			want:   observation.ProgressInProgress,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Normalize(parse(t, tc.object))
			if s.Progress != tc.want || tc.message != "" && s.ProgressMessage != tc.message {
				t.Errorf("%s: want %s %q, got %s %q", tc.reason, tc.want, tc.message, s.Progress, s.ProgressMessage)
			}
		})
	}
}
