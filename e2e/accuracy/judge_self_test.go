// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// TestJudge: the judge finds each kind of fault in one small scenario.
func TestJudge(t *testing.T) {
	is := &truth{
		names: map[string]string{"d": "web", "p": "web-A-*"},
		writes: []audit.Write{
			{User: userA, Verb: "patch", Resource: "deployments", UID: "d", ResourceVersion: "5"},
			{
				User:            accounts + "kube-system:replicaset-controller",
				Verb:            "create",
				Code:            201,
				Resource:        "pods",
				UID:             "p",
				ResourceVersion: "7",
			},
		},
	}
	is.all = map[stored.Key]*audit.Write{}
	for i := range is.writes {
		is.all[stored.KeyOf(&is.writes[i])] = &is.writes[i]
	}
	want := []string{"user-a update Deployment web converged: create Pod"}
	trace := func(user string, spans ...*harness.Span) *harness.Trace {
		root := &harness.Span{Name: "reconcile Deployment", Attributes: map[string]string{
			"k8s.object.kind": "Deployment", "k8s.object.name": "web", "k8s.object.uid": "d",
			"lifeline.outcome": "converged", "lifeline.actor.user": user,
		}, Events: []harness.Event{{Name: "write", Attributes: map[string]string{
			"lifeline.write.verb": "update", "lifeline.write.part": "desired", "k8s.object.resource_version": "5",
		}}}}
		return &harness.Trace{ID: "1", Spans: append([]*harness.Span{root}, spans...)}
	}
	pod := &harness.Span{Name: "reconcile Pod", Parent: "1", Attributes: map[string]string{
		"k8s.object.kind": "Pod", "k8s.object.name": "web-1-2", "k8s.object.uid": "p", "lifeline.outcome": "converged",
	}, Events: []harness.Event{{Name: "write", Attributes: map[string]string{
		"lifeline.write.verb": "create", "lifeline.write.part": "desired", "k8s.object.resource_version": "7",
	}}}}
	// status is the trace of a change that begins with a status, such as a new revision.
	status := func(user string) *harness.Trace {
		tr := trace(user)
		tr.Spans[0].Events[0].Attributes["lifeline.write.part"] = "observed"
		return tr
	}
	own := *pod
	own.Parent = ""
	for name, tc := range map[string]struct {
		reason string
		traces []*harness.Trace
		want   verdict
	}{
		"Right": {
			reason: "one trace with both writes and the right author",
			traces: []*harness.Trace{trace(userA, pod)},
			want:   verdict{right: 2, names: [3]int{rightName: 1}},
		},
		"WrongName": {
			reason: "the author is somebody else",
			traces: []*harness.Trace{trace(userB, pod)},
			want: verdict{
				right: 2, names: [3]int{wrongName: 1},
				misnamed: []string{"user-a update Deployment web converged: named user-b"},
			},
		},
		"Status": {
			reason: "a change that begins with a status has the author of the status",
			traces: []*harness.Trace{status(userB)},
			want: verdict{
				none: 2, names: [3]int{wrongName: 1}, missing: want,
				surplus:  []string{"user-a update Deployment web converged"},
				lost:     []string{"user-a update deployments web", "replicaset-controller create pods web-A-*"},
				misnamed: []string{"user-a update Deployment web converged: named user-b"},
			},
		},
		"Lost": {
			reason: "no trace has the Pod",
			traces: []*harness.Trace{trace(userA)},
			want: verdict{
				right: 1, none: 1, names: [3]int{rightName: 1}, missing: want,
				surplus: []string{"user-a update Deployment web converged"},
				lost:    []string{"replicaset-controller create pods web-A-*"},
			},
		},
		"Split": {
			reason: "the Pod has a trace of its own",
			traces: []*harness.Trace{trace(userA), {ID: "2", Spans: []*harness.Span{&own}}},
			want: verdict{
				right: 1, wrong: 1, names: [3]int{rightName: 1, noName: 1}, missing: want,
				surplus: []string{
					"user-a update Deployment web converged",
					"replicaset-controller create Pod web-A-* converged",
				},
				misplaced: []string{"replicaset-controller create pods web-A-*, in the trace of " +
					"replicaset-controller create Pod web-A-* converged"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(tc.traces, want, is, 0)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(verdict{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.ok() != (name == "Right") {
				t.Errorf("%s: ok is %t", tc.reason, got.ok())
			}
		})
	}
}
