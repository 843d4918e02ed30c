// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// saved returns the saved state of a trail.
func saved(t *testing.T, tr *Trail) []byte {
	t.Helper()
	var out bytes.Buffer
	s, h := snapshot.NewWriter(&out, epoch), &statepb.Header{}
	tr.Header(s, h)
	s.Header(h)
	tr.Save(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// restored returns the trail of a saved state.
func restored(t *testing.T, state []byte) *Trail {
	t.Helper()
	in := bytes.NewReader(state)
	if _, err := snapshot.ReadVersion(in); err != nil {
		t.Fatal(err)
	}
	tr, r := newWorld().Trail, snapshot.NewReader(in)
	for p := r.Next(); p != nil; p = r.Next() {
		if p.Header != nil {
			tr.RestoreHeader(r, p.Header)
		}
		tr.Restore(r, p)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return tr
}

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

	state := saved(t, w.Trail)
	got := restored(t, state)
	w.Count(func(s *Stats) { *s = Stats{} })
	w.doubts = 0
	options := cmp.Options{
		cmp.AllowUnexported(Trail{}, sighting{}),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "known" }, cmp.Ignore()),
	}
	if diff := cmp.Diff(w.Trail, got, options); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !bytes.Equal(state, saved(t, got)) {
		t.Error("another save gives other bytes")
	}
}

// TestRestoreDamaged: a state without the requests of an entry is an error, not a panic.
func TestRestoreDamaged(t *testing.T) {
	for name, p := range map[string]*statepb.Part{
		"waiting":  {Adrift: []*statepb.Adrift{{}}},
		"longer":   {LongAdrift: []*statepb.Adrift{{}}},
		"kinds":    {Refusals: []*statepb.Refusals{{}}},
		"requests": {Refusals: []*statepb.Refusals{{Kinds: []*statepb.Refusal{{}}}}},
		"number":   {Adrift: []*statepb.Adrift{{Requests: []uint64{7}}}},
	} {
		r := snapshot.NewReader(bytes.NewReader(nil))
		newWorld().Restore(r, p)
		if r.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
