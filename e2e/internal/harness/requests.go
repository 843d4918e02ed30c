// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// CheckRequests compares the reported writes of a command with the API server's
// log: those in the namespace, stored while lifeline ran, by clients with that
// prefix of the user agent. Each is reported once, with its Audit-Id and the
// resourceVersion of the object, and no other write is.
func (b *Bench) CheckRequests(t testing.TB, r Result, namespace, agent string) {
	t.Helper()
	type request struct{ AuditID, Name, Version string }
	want, got := map[request]int{}, map[request]int{}
	for _, w := range b.Writes(t, r) {
		if w.Namespace == namespace && strings.HasPrefix(w.UserAgent, agent) {
			version := w.ResourceVersion
			if w.Removed || strings.HasPrefix(w.Verb, "delete") {
				version = "" // not every answer tells it
			}
			want[request{w.AuditID, w.Name, version}]++
		}
	}
	for _, tr := range r.Traces {
		for _, s := range tr.Spans {
			id := s.Attributes["k8s.audit_id"]
			if id == "" || s.Error {
				continue
			}
			version := s.Attributes["k8s.object.resource_version"]
			if strings.HasPrefix(s.Name, "delete") {
				version = ""
			}
			got[request{id, s.Object(), version}]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-stored +told):\n%s", diff)
	}
}

// Writes returns what the API server stored while a result came about.
func (b *Bench) Writes(t testing.TB, r Result) []audit.Write {
	t.Helper()
	all, err := audit.Read(b.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	var out []audit.Write
	for _, w := range all {
		if w.Received.After(r.Began) && w.Received.Before(r.Ended) {
			out = append(out, w)
		}
	}
	return out
}
