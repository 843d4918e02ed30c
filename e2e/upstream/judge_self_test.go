// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

const (
	jane = "jane"
	sets = "system:serviceaccount:kube-system:statefulset-controller"
)

// write is a write of the audit log to an object whose name is its UID.
func write(user, verb, uid, version, object string) audit.Write {
	code := 200
	if verb == "create" {
		code = 201
	}
	return audit.Write{
		User: user, Verb: verb, Code: code, Resource: "statefulsets", Name: uid, UID: uid, ResourceVersion: version,
		Object: []byte(object), Received: time.Unix(int64(version[0]), 0),
	}
}

// span is the span of a write in a trace.
func span(verb, uid, version, user string) *harness.Span {
	return &harness.Span{Name: verb + " StatefulSet", Attributes: map[string]string{
		"lifeline.write.verb": verb, "lifeline.write.part": "desired", "k8s.object.uid": uid,
		"k8s.object.resource_version": version, "lifeline.actor.user": user, "lifeline.outcome": "converged",
	}}
}

func trace(id string, spans ...*harness.Span) *harness.Trace {
	return &harness.Trace{ID: id, Spans: spans}
}

// TestJudge: each rule finds its fault.
func TestJudge(t *testing.T) {
	log := []audit.Write{
		write(jane, "create", "db", "1", `{"spec":{"replicas":1}}`),
		write(sets, "update", "db", "2", `{"spec":{"replicas":1},"status":{"replicas":1}}`),
		write(jane, "patch", "db", "3", `{"spec":{"replicas":2}}`),
		write(sets, "create", "db-0", "4", `{"spec":{}}`),
	}
	linked := span("create", "db-0", "4", sets)
	linked.Links = []harness.Link{{Why: "healed"}}
	right := []*harness.Trace{
		trace("a", span("create", "db", "1", jane)), trace("b", span("update", "db", "3", jane)), trace("c", linked),
	}
	for name, tc := range map[string]struct {
		reason string
		traces []*harness.Trace
		placed int
		want   []string
	}{
		"Right": {"each write is in one trace", right, 3, nil},
		"Lost":  {"a change is missing", []*harness.Trace{right[0], right[2]}, 2, []string{lost, differs}},
		"Twice": {"a change is in two traces", append(right, trace("d", span("update", "db", "3", jane))), 2, []string{
			differs, twice,
		}},
		"Alone": {"the Pod's trace has no link", []*harness.Trace{
			right[0], right[1], trace("c", span("create", "db-0", "4", sets)),
		}, 3, []string{alone}},
		"Author": {"another user made the change", []*harness.Trace{
			right[0], trace("b", span("update", "db", "3", "joe")), right[2],
		}, 3, []string{author}},
		"Unknown": {"an unknown author is not wrong", []*harness.Trace{
			right[0], trace("b", span("update", "db", "3", "")), right[2],
		}, 3, nil},
		"Step": {"a write in the trace of another is not in two", []*harness.Trace{
			right[0], right[1], trace("c", linked, span("update", "db", "2", sets)),
		}, 3, []string{differs}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge("", tc.traces, read(log, time.Time{}))
			v.compare(right, tc.traces)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(v.faults))); diff != "" || v.placed != tc.placed {
				t.Errorf("%s: %d writes are placed, want %d; faults, -want +got:\n%s\n%s", tc.reason, v.placed,
					tc.placed, diff, v)
			}
			if v.all != 3 {
				t.Errorf("%d writes of desired state, want 3", v.all)
			}
		})
	}
}

// TestComponents: by watch alone a trace names a field manager or a program.
func TestComponents(t *testing.T) {
	w := write(sets, "create", "db-0", "4", `{"metadata":{"managedFields":[{"manager":"kube-controller-manager"}]}}`)
	w.UserAgent = "controllers/v1.36.3"
	for component, want := range map[string]bool{
		"controllers": true, "kube-controller-manager": true, "statefulset-controller": true,
		"stateful-set-controller": true, "kubectl": false,
	} {
		if got := wrote(component, &w); got != want {
			t.Errorf("wrote(%s) = %t, want %t", component, got, want)
		}
	}
}
