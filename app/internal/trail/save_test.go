// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
)

// TestSave: a restored trail is equal, apart from the counts.
func TestSave(t *testing.T) {
	w := newWorld()
	web, name := index.Subject{UID: "uid"},
		index.Subject{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	w.Age(at(1))
	w.Measure(&observation.Observation{Seen: at(12), Write: &observation.Write{End: at(10)}})
	w.Sight(sent("a", "create"))
	w.Sight(sent("a", "delete"))
	w.Wait(web, sent("a", "create"))
	w.Refuse(index.Subject{Owner: "uid"}, refused(1))
	w.Age(at(200))
	w.Sight(sent("b", "create"))
	w.Wait(name, sent("b", "create"))
	w.Wait(name, sent("c", "create"))
	for second := range maxAlike + 2 {
		w.Refuse(name, refused(float64(second+2)))
	}
	w.Refuse(name, refused(9, from("joe")))
	w.RefusalsOf(name).Kinds[1].HandedOut = true

	format := snapshot.New[State](snapshot.Sharing{})
	var out bytes.Buffer
	got := newWorld().Trail
	if err := format.Save(&out, epoch, &w.State); err != nil {
		t.Fatal(err)
	}
	state := bytes.Clone(out.Bytes())
	if err := format.Restore(&out, &got.State); err != nil || !got.Valid() {
		t.Fatalf("got error %v, valid %t", err, got.Valid())
	}
	if diff := cmp.Diff(w.State, got.State, cmp.AllowUnexported(State{}, sighting{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := format.Save(&out, epoch, &got.State); err != nil || !bytes.Equal(state, out.Bytes()) {
		t.Errorf("another save gives other bytes, and error %v", err)
	}
}

func TestValid(t *testing.T) {
	one, w := index.Subject{UID: "uid"}, &observation.Write{}
	for name, tt := range map[string]struct {
		state State
		want  bool
	}{
		"empty":   {State{}, true},
		"waiting": {State{waiting: map[index.Subject][]*observation.Write{one: {w}}}, true},
		"refused": {
			State{refusals: map[index.Subject]*Refusals{one: {Kinds: []*Refusal{{Writes: []*observation.Write{w}}}}}},
			true,
		},
		"nothing waits":  {State{waiting: map[index.Subject][]*observation.Write{one: nil}}, false},
		"nothing longer": {State{longer: map[index.Subject][]*observation.Write{one: nil}}, false},
		"no kind":        {State{refusals: map[index.Subject]*Refusals{one: {}}}, false},
		"no request":     {State{refusals: map[index.Subject]*Refusals{one: {Kinds: []*Refusal{{}}}}}, false},
	} {
		if got := tt.state.Valid(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
