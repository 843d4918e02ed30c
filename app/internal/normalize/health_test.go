// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestHealth: the verdict on an object without built-in rules, with its text and its source.
func TestHealth(t *testing.T) {
	const meta = `"metadata":{"name":"n","namespace":"default","uid":"u","resourceVersion":"7","generation":2},`
	for name, tc := range map[string]struct {
		text     string
		progress observation.Progress
		message  string
		by       observation.Judge
		observed int64
	}{
		"observed as text": {
			`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout",` + meta +
				`"spec":{},"status":{"observedGeneration":"2","phase":"Healthy"}}`,
			observation.ProgressCurrent, "", observation.JudgedByArgoCD, 2,
		},
		"paused": {
			`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout",` + meta +
				`"spec":{},"status":{"observedGeneration":"2","phase":"Paused","message":"CanaryPauseStep"}}`,
			observation.ProgressInProgress, "paused: CanaryPauseStep", observation.JudgedByArgoCD, 2,
		},
		"withheld": {
			`{"apiVersion":"kafka.strimzi.io/v1","kind":"Kafka",` + meta + `"status":{"conditions":[
				{"type":"NotReady","status":"True","reason":"TimeoutException",
				"message":"the token is cNrYhunter2"}]}}`,
			observation.ProgressFailed, "“the token is …”", observation.JudgedByArgoCD, -1,
		},
		"text of a check": {
			`{"apiVersion":"kafka.strimzi.io/v1","kind":"Kafka",` + meta + `"status":{}}`,
			observation.ProgressInProgress, "Waiting for Kafka Cluster", observation.JudgedByArgoCD, -1,
		},
		"a pause needs no observation": {
			`{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization",` + meta +
				`"spec":{"suspend":true},"status":{"observedGeneration":1}}`,
			observation.ProgressCurrent, "held: it is paused, as wished", observation.JudgedByNames, 2,
		},
		"a text as state": {
			`{"apiVersion":"example.com/v1","kind":"Widget",` + meta +
				`"status":{"phase":"Failed","message":"cNrYhunter2 is used"}}`,
			observation.ProgressFailed, "“cNrYhunter2 is used”", observation.JudgedByNames, -1,
		},
		"nothing": {
			`{"apiVersion":"example.com/v1","kind":"Widget",` + meta + `"spec":{}}`,
			observation.ProgressCurrent, "", observation.JudgedByNothing, -1,
		},
		"built-in rules": {
			`{"apiVersion":"acme.cert-manager.io/v1","kind":"Order",` + meta +
				`"status":{"state":"valid"}}`,
			observation.ProgressCurrent, "", "", -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New([KeySize]byte{1}, Settings{}).Object(parse(t, tc.text))
			if s.Progress != tc.progress || s.ProgressMessage != tc.message || s.JudgedBy != tc.by ||
				s.ObservedGeneration != tc.observed {
				t.Errorf("got %s %q by %q, observed %d",
					s.Progress, s.ProgressMessage, s.JudgedBy, s.ObservedGeneration)
			}
		})
	}
}

// TestSetHealth: new rules apply to the next object, of a kind with built-in rules, too.
func TestSetHealth(t *testing.T) {
	n := New([KeySize]byte{1}, Settings{})
	u := parse(t, `{"apiVersion":"acme.cert-manager.io/v1","kind":"Order",
		"metadata":{"name":"n","uid":"u","resourceVersion":"7"},"status":{"stage":"Live"}}`)
	if s := n.Object(u); s.Progress != observation.ProgressInProgress {
		t.Fatalf("got %s", s.Progress)
	}
	rules, err := health.NewRules([]health.Rule{{
		Kind: u.GroupVersionKind().GroupKind(), Current: "status.stage == 'Live'",
	}})
	if err != nil {
		t.Fatal(err)
	}
	n.SetHealth(rules)
	if s := n.Object(u); s.Progress != observation.ProgressCurrent || s.JudgedBy != observation.JudgedByConfiguration {
		t.Errorf("got %s by %q", s.Progress, s.JudgedBy)
	}
}
