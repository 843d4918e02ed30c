// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"testing"
	"time"
)

func TestRefresh(t *testing.T) {
	ready := time.Date(2026, 11, 23, 7, 42, 25, 0, time.UTC)
	pod := func(metadata, status string) string {
		return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"p"%s},"status":{"conditions":[`+
			`{"type":"PodReadyToStartContainers","status":"True","lastTransitionTime":"2026-11-23T07:41:00Z"},`+
			`{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`, metadata, status, ready.Format(time.RFC3339))
	}
	write := func(after time.Duration, object string) Write {
		return Write{
			Resource: "pods", Subresource: "status", Verb: "patch", UserAgent: "kubelet/v1.36.3 (linux/amd64)",
			Received: ready.Add(after), Object: []byte(object),
		}
	}
	by := func(w Write, change func(*Write)) Write {
		change(&w)
		return w
	}
	later := write(63*time.Second, pod("", "True"))
	deleted := pod(`,"deletionTimestamp":"2026-11-23T08:42:25Z"`, "True")
	for name, tc := range map[string]struct {
		reason string
		write  Write
		want   bool
	}{
		"FirstSync":    {"A minute after the start the kubelet adds status.resources.", later, true},
		"Ready":        {"The report of readiness belongs to the start.", write(time.Second, pod("", "True")), false},
		"ReadySlowly":  {"On a busy machine that report takes seconds.", write(20*time.Second, pod("", "True")), false},
		"NotReady":     {"A Pod that fails later is news.", write(time.Hour, pod("", "False")), false},
		"Deleted":      {"The end of a Pod is news.", write(time.Hour, deleted), false},
		"Controller":   {"Others write for a reason.", by(later, func(w *Write) { w.UserAgent = "manager/v1" }), false},
		"Pod":          {"Only the status is refreshed.", by(later, func(w *Write) { w.Subresource = "" }), false},
		"Node":         {"Only Pods are meant.", by(later, func(w *Write) { w.Resource = "nodes" }), false},
		"NoObject":     {"An answer without an object is no evidence.", write(time.Hour, ""), false},
		"NoConditions": {"A Pod without conditions has not started.", write(time.Hour, `{"kind":"Pod"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.write.Refresh(); got != tc.want {
				t.Errorf("Refresh() = %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}
