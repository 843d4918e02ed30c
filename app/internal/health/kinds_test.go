// SPDX-License-Identifier: Apache-2.0

package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// sample is a kind in testdata/kinds, with objects as its project writes them.
type sample struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       map[string]any `json:"spec"`
	Cases      []struct {
		Want        observation.Progress `json:"want"`
		By          observation.Judge    `json:"by"`
		Held        bool                 `json:"held"`
		Generation  *int64               `json:"generation"`
		Annotations map[string]any       `json:"annotations"`
		Labels      map[string]any       `json:"labels"`
		Spec        map[string]any       `json:"spec"`
		Status      map[string]any       `json:"status"`
	} `json:"cases"`
}

// object returns the object of a case.
func (s *sample) object(i int) map[string]any {
	c := &s.Cases[i]
	meta := map[string]any{"name": "a", "namespace": "n", "generation": int64(1)}
	if c.Generation != nil {
		meta["generation"] = *c.Generation
	}
	if c.Annotations != nil {
		meta["annotations"] = c.Annotations
	}
	if c.Labels != nil {
		meta["labels"] = c.Labels
	}
	obj := map[string]any{"apiVersion": s.APIVersion, "kind": s.Kind, "metadata": meta}
	if obj["spec"] = s.Spec; c.Spec != nil {
		obj["spec"] = c.Spec
	}
	if obj["spec"] == nil {
		delete(obj, "spec")
	}
	if c.Status != nil {
		obj["status"] = c.Status
	}
	return Reduced(obj)
}

// samples returns the kinds in testdata/kinds by project.
func samples(t *testing.T) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob("testdata/kinds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]sample{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []sample
		if err := yaml.UnmarshalStrict(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = list
	}
	return out
}

// TestKinds: at least 40 kinds of 20 projects have the right verdict in each state, and the source of the
// verdict. An object of each kind is judged without knowledge of other objects.
func TestKinds(t *testing.T) {
	kinds, all := 0, samples(t)
	for project, list := range all {
		for i := range list {
			s := &list[i]
			kinds++
			converged, other := false, false
			for n, c := range s.Cases {
				v := NewJudge(nil, new(Signals)).Of(s.object(n))
				if v.Progress != c.Want || v.By != c.By || v.Held != c.Held {
					t.Errorf("%s: %s, case %d: got %+v, want %s by %s (held: %t)",
						project, s.Kind, n, v, c.Want, c.By, c.Held)
				}
				converged = converged || c.Want == observation.ProgressCurrent
				other = other || c.Want != observation.ProgressCurrent || c.By == observation.JudgedByNothing
			}
			if !converged || !other {
				t.Errorf("%s: %s has no cases in both directions", project, s.Kind)
			}
		}
	}
	if kinds < 40 || len(all) < 20 {
		t.Errorf("got %d kinds of %d projects, want 40 of 20", kinds, len(all))
	}
}
