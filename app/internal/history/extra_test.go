// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestExtra(t *testing.T) {
	requests := []*observation.Write{{AuditID: "a"}}
	refers := []object.Relation{{Type: object.Target}}
	names := []object.Name{{Name: "web"}}
	cases := map[string]struct {
		reason string
		set    func(*Record)
		want   *RecordExtra
	}{
		"nothing": {"most records have none", func(*Record) {}, nil},
		"all": {"a value leaves the others", func(r *Record) {
			r.SetRequests(requests)
			r.SetRefers(refers)
			r.SetNames(names)
		}, &RecordExtra{Requests: requests, Refers: refers, Names: names}},
		"emptied": {"a record without values needs no memory for them", func(r *Record) {
			r.SetRequests(requests)
			r.SetNames(names)
			r.SetNames(nil)
			r.SetRequests(requests[:0])
		}, nil},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			var r Record
			tt.set(&r)
			if diff := cmp.Diff(tt.want, r.Extra); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, diff)
			}
		})
	}
}

// TestKept: values without any of the fields are one value.
func TestKept(t *testing.T) {
	for name, same := range map[string]bool{
		"intent": IntentExtra{Finalizers: []string{}}.Kept() == noIntentExtra,
		"status": StatusExtra{}.Kept() == noStatusExtra,
		"pod":    PodExtra{Init: []*observation.Container{}}.Kept() == noPodExtra,
	} {
		if !same {
			t.Errorf("%s: two values, want one", name)
		}
	}
	if e := (PodExtra{Scheduled: 1}).Kept(); e == noPodExtra || e.Scheduled != 1 {
		t.Errorf("a Pod with a value has %+v", *e)
	}
}

func TestVerb(t *testing.T) {
	for v, want := range map[Verb]string{0: "", Created: "create", Removed: "remove", Removed + 1: ""} {
		if got := v.String(); got != want {
			t.Errorf("verb %d is %q, want %q", v, got, want)
		}
	}
}
