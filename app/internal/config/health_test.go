// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestExampleHealth parses the example of the documentation and judges by it.
func TestExampleHealth(t *testing.T) {
	c, err := Parse([]byte(head + "health:\n" + exampleHealth))
	if err != nil {
		t.Fatal(err)
	}
	j := health.NewJudge(c.HealthRules(), new(health.Signals))
	if !j.Declares(schema.GroupKind{Group: "example.com", Kind: "Widget"}) {
		t.Fatal("no rule for the kind")
	}
	for stage, want := range map[string]observation.Progress{
		"Live": observation.ProgressCurrent, "Broken": observation.ProgressFailed,
		"Warming": observation.ProgressInProgress,
	} {
		v := j.Of(map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "status": map[string]any{"stage": stage},
		})
		if v.Progress != want || v.By != observation.JudgedByConfiguration {
			t.Errorf("%s: got %s by %s, want %s", stage, v.Progress, v.By, want)
		}
	}
}

// TestHealthReloads: a change of the rules needs no restart.
func TestHealthReloads(t *testing.T) {
	now := Default()
	now.Health = []HealthConfiguration{{Group: "example.com", Kind: "Widget", Current: "status.stage == 'Live'"}}
	reload, restart := Diff(Default(), now)
	if strings.Join(reload, " ") != "health" || len(restart) > 0 {
		t.Errorf("got reload %v, restart %v", reload, restart)
	}
}

// TestInvalidHealth: an error names the field, and the position in an expression.
func TestInvalidHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
	}{
		"syntax":     {"{group: example.com, kind: Widget, current: 'status.stage =='}", "health[0].current:1:16"},
		"no current": {"{group: example.com, kind: Widget, failed: 'true'}", "health[0].current:1:1"},
		"number":     {"{group: example.com, kind: Widget, current: '1'}", "health[0].current:1:1"},
		"variable": {
			"{group: example.com, kind: Widget, current: 'true', failed: 'secret.a'}", "health[0].failed:1:1",
		},
		"built-in":     {"{group: apps, kind: Deployment, current: 'true'}", "health[0].group"},
		"unknown word": {"{group: example.com, kind: Widget, current: 'true', degraded: 'true'}", "degraded"},
		"twice": {
			"{group: example.com, kind: Widget, current: 'true'}, {group: example.com, kind: Widget, current: 'true'}",
			"health[1].kind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + "health: [" + tc.text + "]"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
