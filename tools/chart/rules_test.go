// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// promtool runs promtool with some arguments. Its build takes minutes, so only `make rules-test` has it.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program := os.Getenv("LIFELINE_PROMTOOL")
	if program == "" {
		t.Skip("make rules-test runs it")
	}
	run := exec.CommandContext(t.Context(), program, args...)
	run.Dir = filepath.Join(root, filepath.Dir(rules))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestRules plays the stories of rules_test.yaml to the alert rules.
func TestRules(t *testing.T) {
	promtool(t, "check", "rules", "rules.yaml")
	promtool(t, "test", "rules", "rules_test.yaml")
}

// TestRulesOfValues checks the rules with another objective.
func TestRulesOfValues(t *testing.T) {
	_, text := renderedWith(t, "monitoring: {prometheusRule: {enabled: true, objective: {percent: 99.5, seconds: 60, "+
		"kinds: [Deployment, Rollout], minimum: 3}}}")
	for _, want := range []string{
		`kind=~"Deployment|Rollout"`, `le=~"60([.]0)?"`, "(1 - 99.5 / 100)", ">= 3\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the rules have no %s", want)
		}
	}
	if strings.Contains(text, "SLO_") {
		t.Error("the rules have a place for a value")
	}
}

// dashboard is the part of a dashboard that the tests read.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// TestDashboard: each query of the dashboard is one of PromQL, its recorded series are those of the rules, and no panel
// covers another one.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, folder, "files/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(filepath.Join(root, rules))
	if err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", "lifeline", "$namespace", "shop")
	var queries []map[string]string
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the number %d", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if places[at] != "" && places[at] != p.Title {
					t.Fatalf("%q covers %q", p.Title, places[at])
				}
				places[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			expression := variables.Replace(target.Expr)
			queries = append(queries, map[string]string{
				"record": fmt.Sprintf("query:%d", len(queries)), "expr": expression,
			})
			for _, name := range regexp.MustCompile(`lifeline:[a-z_:0-9]+`).FindAllString(expression, -1) {
				if !strings.Contains(string(recorded), "record: "+name+"\n") {
					t.Errorf("%s: %s is not recorded", p.Title, name)
				}
			}
		}
	}
	if len(queries) < 20 {
		t.Errorf("only %d queries", len(queries))
	}
	file := filepath.Join(t.TempDir(), "queries.yaml")
	out, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": queries}}})
	if err == nil {
		err = os.WriteFile(file, out, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}
