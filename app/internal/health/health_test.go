// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func widget(status fields) fields {
	obj := fields{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": fields{"generation": int64(2)}}
	if status != nil {
		obj["status"] = status
	}
	return obj
}

var widgets = schema.GroupKind{Group: "example.com", Kind: "Widget"}

// TestSignals: an object that shows nothing waits once any object of its kind has shown its state.
func TestSignals(t *testing.T) {
	signals := new(Signals)
	j := NewJudge(nil, signals)
	observed := fields{"observedGeneration": int64(2)}
	steps := []struct {
		status fields
		want   observation.Progress
		by     observation.Judge
	}{
		{nil, observation.ProgressCurrent, observation.JudgedByNothing},
		{observed, observation.ProgressCurrent, observation.JudgedByKstatus},
		{fields{"phase": "Ready"}, observation.ProgressCurrent, observation.JudgedByNames},
		{nil, observation.ProgressInProgress, observation.JudgedByNames},
		{observed, observation.ProgressInProgress, observation.JudgedByNames},
	}
	for i, step := range steps {
		v := j.Of(widget(step.status))
		if v.Progress != step.want || v.By != step.by {
			t.Errorf("step %d: got %s by %s, want %s by %s", i, v.Progress, v.By, step.want, step.by)
		}
		if i == 0 && !cmp.Equal(signals.Silent(), []schema.GroupKind{widgets}) {
			t.Errorf("silent: got %v", signals.Silent())
		}
	}
	if len(signals.Silent()) > 0 || !cmp.Equal(signals.Names(), []string{"Widget.example.com"}) {
		t.Errorf("got %v, and silent %v", signals.Names(), signals.Silent())
	}
}

// TestDefine: a definition with a column for the status promises that its objects show it.
func TestDefine(t *testing.T) {
	for path, want := range map[string]observation.Progress{
		`.status.conditions[?(@.type=="Ready")].status`: observation.ProgressInProgress,
		".status.phase":               observation.ProgressInProgress,
		".status.lastBackupTime":      observation.ProgressCurrent,
		".metadata.creationTimestamp": observation.ProgressCurrent,
		".spec.state":                 observation.ProgressCurrent,
	} {
		signals := new(Signals)
		signals.Define(fields{"spec": fields{
			"group": "example.com", "names": fields{"kind": "Widget"}, "versions": []any{fields{
				"served": true, "additionalPrinterColumns": []any{fields{"name": "A", "jsonPath": path}},
			}},
		}})
		if got := NewJudge(nil, signals).Of(widget(nil)).Progress; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestFirstObjects: the first objects of a kind with a status wait for theirs. Later ones do not, if an older
// one still shows nothing.
func TestFirstObjects(t *testing.T) {
	signals := new(Signals)
	j := NewJudge(nil, signals)
	at := func(created string) observation.Judge {
		obj := widget(nil)
		obj["metadata"] = fields{"generation": int64(1), "creationTimestamp": created}
		return j.Of(obj).By
	}
	if by := at("2026-01-02T03:00:00Z"); by != observation.JudgedByNothing {
		t.Errorf("without a definition: got %q", by)
	}
	*signals = Signals{}
	signals.Define(fields{"spec": fields{
		"group": "example.com", "names": fields{"kind": "Widget"},
		"versions": []any{fields{"served": true, "subresources": fields{"status": fields{}}}},
	}})
	for _, step := range []struct {
		created string
		want    observation.Judge
	}{
		{"2026-01-02T03:00:00Z", observation.JudgedByNothingYet},
		{"2026-01-02T03:00:30Z", observation.JudgedByNothingYet},
		{"2026-01-02T03:01:00Z", observation.JudgedByNothing},
		{"2026-01-02T03:00:30Z", observation.JudgedByNothingYet},
	} {
		if by := at(step.created); by != step.want {
			t.Errorf("created at %s: got %q, want %q", step.created, by, step.want)
		}
	}
}

// TestRules: the order of a rule's expressions, missing fields, and the vetoes before a rule.
func TestRules(t *testing.T) {
	rules, err := NewRules([]Rule{{
		Kind: widgets, Current: "status.stage == 'Live'", InProgress: "status.updating",
		Failed: "status.stage == 'Broken'",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		status fields
		want   observation.Progress
		by     observation.Judge
	}{
		"no status": {nil, observation.ProgressInProgress, observation.JudgedByConfiguration},
		"current":   {fields{"stage": "Live"}, observation.ProgressCurrent, observation.JudgedByConfiguration},
		"failed":    {fields{"stage": "Broken"}, observation.ProgressFailed, observation.JudgedByConfiguration},
		"in progress": {
			fields{"stage": "Broken", "updating": true}, observation.ProgressInProgress,
			observation.JudgedByConfiguration,
		},
		"none": {fields{"stage": "x"}, observation.ProgressInProgress, observation.JudgedByConfiguration},
		"unobserved": {
			fields{"stage": "Live", "observedGeneration": int64(1)}, observation.ProgressInProgress,
			observation.JudgedByNames,
		},
	} {
		if v := NewJudge(rules, new(Signals)).Of(widget(tc.status)); v.Progress != tc.want || v.By != tc.by {
			t.Errorf("%s: got %s by %s, want %s by %s", name, v.Progress, v.By, tc.want, tc.by)
		}
	}
	j := NewJudge(nil, new(Signals))
	j.SetRules(rules)
	if !j.Declares(widgets) || j.Of(widget(fields{"stage": "Live"})).By != observation.JudgedByConfiguration {
		t.Error("the new rules do not apply")
	}
}

// TestReduced: the newest of several conditions of a type, and the parents that are still referenced.
func TestReduced(t *testing.T) {
	ready := func(status, at string) fields {
		return fields{"type": "Ready", "status": status, "lastTransitionTime": at}
	}
	for name, tc := range map[string]struct{ in, want string }{
		"later": {
			`{"status":{"conditions":[{"type":"A","lastTransitionTime":"2026-01-02T03:04:06Z"},
				{"type":"A","lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"B"}]}}`,
			`{"status":{"conditions":[{"type":"A","lastTransitionTime":"2026-01-02T03:04:06Z"},{"type":"B"}]}}`,
		},
		"parents": {
			`{"metadata":{"namespace":"a"},"spec":{"parentRefs":[{"name":"x"}]},"status":{"parents":[
				{"parentRef":{"name":"x","sectionName":"s"}},{"parentRef":{"name":"y"}},
				{"parentRef":{"name":"x","namespace":"b"}}]}}`,
			`{"metadata":{"namespace":"a"},"spec":{"parentRefs":[{"name":"x"}]},"status":{"parents":[
				{"parentRef":{"name":"x","sectionName":"s"}}]}}`,
		},
	} {
		var in, want fields
		if json.Unmarshal([]byte(tc.in), &in) != nil || json.Unmarshal([]byte(tc.want), &want) != nil {
			t.Fatal(name)
		}
		if diff := cmp.Diff(want, Reduced(in)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	const at = "2026-01-02T03:04:05Z"
	both := []any{ready("False", at), ready("True", at)}
	status := fields{"conditions": both}
	obj := widget(status)
	if v := NewJudge(nil, new(Signals)).Of(Reduced(obj)); v.Progress != observation.ProgressCurrent {
		t.Errorf("got %s, want the last of equal times", v.Progress)
	}
	if !cmp.Equal(status["conditions"], any(both)) {
		t.Error("the object was changed")
	}
}

// FuzzOf: any object gets a verdict, and the same one again.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"apiVersion":"kafka.strimzi.io/v1","kind":"Kafka","status":{"conditions":[{"type":"Ready"}]}}`,
		`{"apiVersion":"a.crossplane.io/v1","kind":"A","status":{"conditions":[null,{"type":"Ready","status":1}]}}`,
		`{"apiVersion":"a.b/v1","kind":"C","spec":{"parentRefs":[{"port":80}]},
			"status":{"parents":[{"parentRef":{"port":80}},{}]}}`,
		`{"apiVersion":"a.b/v1","kind":"CJob","status":{"state":{"phase":"Running"},"ready":false,
			"observedGeneration":"7"}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var obj fields
		if json.Unmarshal([]byte(text), &obj) != nil || obj == nil {
			return
		}
		obj = Reduced(obj)
		a, b := NewJudge(nil, new(Signals)).Of(obj), NewJudge(nil, new(Signals)).Of(obj)
		if a.Progress == "" || a.By == "" || a != b {
			t.Fatalf("got %+v, then %+v", a, b)
		}
	})
}
