// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestReasonWithoutSubject: a reason about the object itself is a sentence.
func TestReasonWithoutSubject(t *testing.T) {
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	of := object.Ref{Kind: object.Kind{Kind: "Deployment"}, Name: "web"}
	for reason, want := range map[string]string{
		"is complete; its Pods must stay ready for 10s": "it is complete; its Pods must stay ready for 10s",
		"has 1 of 2 replicas available":                 "it has 1 of 2 replicas available",
		"Deployment web has 1 of 2 replicas available":  "it has 1 of 2 replicas available",
		"Pod web-1 is ready, and must stay so for 10s":  "Pod web-1 is ready, and must stay so for 10s",
		"image pull failed":                             "image pull failed",
	} {
		a := &Answer{State: Running, Object: of, Start: start, Reason: reason}
		got := a.verdict(start.Add(6*time.Second), "")
		if full := "The change of Deployment web has been running for 6s: " + want + "."; got != full {
			t.Errorf("got %q, want %q", got, full)
		}
	}
}
