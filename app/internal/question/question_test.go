// SPDX-License-Identifier: Apache-2.0

package question

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update to write it), -want +got:\n%s", path, diff)
	}
}

var at = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// timed returns a step from and to these seconds after the start of web. A negative end is none.
func timed(phase string, from, to int) Step {
	s := Step{Phase: phase, Start: at.Add(time.Duration(from)*time.Second - time.Minute)}
	if to >= 0 {
		s.End = at.Add(time.Duration(to)*time.Second - time.Minute)
	}
	return s
}

// web is the lifecycle of a Pod.
func web() *Lifecycle {
	return &Lifecycle{
		Object:   object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: "web-1"},
		Start:    at.Add(-time.Minute),
		Duration: 45 * time.Second,
		Outcome:  "converged",
		Phases:   map[string]time.Duration{"startup": 40 * time.Second},
		Steps: []Step{
			timed("pull", 12, 25),
			timed("pull", 10, 11),
			timed("readiness", 30, 40),
			timed("run", 5, 6),
			timed("run", 7, -1),
		},
		Values: map[string]any{
			"volumes": int64(3),
			"images":  []string{"nginx:1.29", "envoy:2"},
			"labels":  map[string]string{"app": "web", "kubernetes.io/x": "y"},
		},
	}
}

// matching has questions, and whether the lifecycle web matches.
var matching = map[string]bool{
	`kind == "Pod" && phase.startup > duration("30s") && images.exists(i, i.contains("nginx"))`: true,

	`namespace == "shop"`:                                                  true,
	`namespace == "namespace"`:                                             false,
	`start > now - duration("2m")`:                                         true,
	`now - start == duration("1m")`:                                        true,
	`labels["kubernetes.io/x"] == "y"`:                                     true,
	`labels.app == "web" && "app" in labels`:                               true,
	`labels.none == "web"`:                                                 false,
	`!(labels.none == "web")`:                                              false, // missing, and not false
	`has(labels.none) || has(phase.pull)`:                                  false,
	`has(phase.startup) && !has(phase.pull)`:                               true,
	`phase.pull < duration("1s") || kind == "Pod"`:                         true, // || absorbs the error
	`phase.pull < duration("1s") && kind == "Job"`:                         false,
	`images.all(i, i.matches("^[a-z]+:[0-9.]+$"))`:                         true,
	`size(images) == 2 && labels.size() == 2`:                              true,
	`kind in ["Pod", "Job"] ? volumes == 3 : false`:                        true,
	`start < timestamp("1700-01-01T00:00:00Z")`:                            false,
	`ended.readiness - began.pull == duration("30s")`:                      true,
	`began.pull == start + duration("10s")`:                                true,  // the first
	`ended.pull == start + duration("25s")`:                                true,  // the last
	`has(began.run) && !has(ended.run)`:                                    true,  // one is open
	`ended.run > start || has(began.init)`:                                 false, // missing
	`end - ended.pull == duration("20s")`:                                  true,
	`images.exists(end, end == "envoy:2")`:                                 true,
	`phase.startup - duration("10s") == end - began.pull - duration("5s")`: true,
	`start + duration("2100000h") > start`:                                 false, // out of range
	`images.exists(namespace, namespace == "envoy:2")`:                     true,
	`name.endsWith("-1") && name.startsWith("web")`:                        true,
	`trace == "00000000000000000000000000000000"`:                          true,
	"kind == 'Pod' // namespace \"\n && namespace != 'a'":                  true,
}

func TestMatches(t *testing.T) {
	for text, want := range matching {
		q, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := q.Matches(web(), at); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// TestErrors has the errors of newcomers, and of everything that questions lack.
func TestErrors(t *testing.T) {
	const long = "name.matches('" // with a pattern that is too long
	texts, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	questions := strings.Split(strings.TrimSuffix(string(texts), "\n"), "\n")
	questions = append(
		questions,
		long+strings.Repeat("a", MaxPattern+1)+"')",
		strings.Repeat("volumes == 1 || ", 90)+"true",
		"true || "+strings.Repeat(" ", MaxText)+"true",
		strings.Repeat("!(", 60)+"true"+strings.Repeat(")", 60),
		strings.Repeat("labels[", 8)+`"a"`+strings.Repeat("]", 8)+` == "b"`,
		"start"+strings.Repeat(" + duration", 100)+" > now",
		"kind == \"\xff\"",
		"kind == \"Pod\" &&\n  volums > 2",
	)
	var out strings.Builder
	for _, text := range questions {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("no error: %s", text)
			continue
		}
		if len(text) > 60 {
			text = text[:40] + "…"
		}
		fmt.Fprintf(&out, "%s\n\t%v\n", strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\n", "⏎"), err)
	}
	golden(t, "errors.out", out.String())
}

// TestLengthErrors: an expression with a duration has the errors of questions, and those of its own.
func TestLengthErrors(t *testing.T) {
	var out strings.Builder
	for _, text := range []string{
		"", "phase.pul", "pull", "ended.readiness - began.pul", "ended.readiness - ", "(phase.pull",
		"ended.readiness", "end", "kind", "phase.pull > duration(\"1s\")", "images", "volumes", "phase", "began",
		"ended.readiness - phase.pull", "phase.pull - 1", "phase.pull * 2", "ended.pull - ended.startup",
		"end + start", "lower(kind)", `duration("2d")`, "phase.pull,duration", "phase.pull; DROP TABLE traces",
		"duration" + strings.Repeat(" + duration", 100), strings.Repeat(" ", MaxText+1), "duration\xff",
		"duration +\n  phas.pull",
	} {
		_, err := ParseLength(text)
		if err == nil {
			t.Errorf("no error: %s", text)
			continue
		}
		if len(text) > 60 {
			text = text[:40] + "…"
		}
		fmt.Fprintf(&out, "%s\n\t%v\n", strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\n", "⏎"), err)
	}
	golden(t, "lengtherrors.out", out.String())
}

// TestLength evaluates lengths of the lifecycle web.
func TestLength(t *testing.T) {
	const missing = time.Duration(-1)
	for text, want := range map[string]time.Duration{
		"duration":                     45 * time.Second,
		"phase.startup":                40 * time.Second,
		"ended.readiness - began.pull": 30 * time.Second,
		"end - ended.pull":             20 * time.Second,
		"now - began.run":              55 * time.Second,
		"end - ended.run":              missing,
		"phase.pull - phase.init":      missing,
		`kind == "Pod" ? duration("1s") : phase.init`:            time.Second,
		"duration + duration - (now - start)":                    30 * time.Second,
		`duration + duration("2100000h") + duration("2100000h")`: missing, // out of range
	} {
		l, err := ParseLength(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if field := byName[text] != nil; l.IsField() != field {
			t.Errorf("%s: a field: %t, want %t", text, l.IsField(), field)
		}
		got, is := l.Of(web(), at)
		if want == missing && is || want != missing && (!is || got != want) {
			t.Errorf("%s: %v, %t, want %v", text, got, is, want)
		}
	}
	open := web()
	open.Outcome = ""
	if l, err := ParseLength("end - start"); err != nil {
		t.Error(err)
	} else if got, is := l.Of(open, at); is {
		t.Errorf("an open lifecycle has the end %s", got)
	}
}

// TestFields: each field has a name, a meaning and a place of its own.
func TestFields(t *testing.T) {
	columns := map[string]bool{}
	for _, f := range Fields() {
		if place := f.Table + "." + f.Column + " " + f.Phase; columns[place] {
			t.Errorf("two fields in %s", place)
		} else {
			columns[place] = true
		}
		if f.Meaning == "" {
			t.Errorf("%s has no meaning", f.Name)
		}
	}
}

// TestPhases: each phase of a Pod among the names of spans is a phase here.
func TestPhases(t *testing.T) {
	had := map[string]bool{}
	for _, p := range Phases() {
		had[p.Span] = true
	}
	for _, term := range span.Vocabulary() {
		if s := (&span.Span{Name: term.Name}); term.Sort == span.SpanName && s.IsPodPhase() && !had[term.Name] {
			t.Errorf("no phase has the spans %q", term.Name)
		}
	}
}

func TestUses(t *testing.T) {
	q, err := Parse(`namespace == "a" && images.exists(start, start == name) && has(phase.pull) && now > now`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"images", "name", "namespace", "phase.pull"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(q.uses))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !q.Uses("phase.pull") || q.Uses("start") {
		t.Error("the variable start is no field")
	}
}

func TestUnreserve(t *testing.T) {
	for text, want := range map[string]string{
		`namespace == "namespace" && 'namespace' == namespace`: `Namespace == "namespace" && 'namespace' == Namespace`,
		`labels.namespace == "a" && labels . namespace == "a"`: `labels.namespace == "a" && labels . namespace == "a"`,
		`"\"namespace" + namespace`:                            `"\"namespace" + Namespace`,
		`r"\" + namespace + R'\' + namespace`:                  `r"\" + Namespace + R'\' + Namespace`,
		`'''a'namespace''' + """"namespace""" + namespace`:     `'''a'namespace''' + """"namespace""" + Namespace`,
		`"namespace`:               `"namespace`,
		`mynamespace_namespace1`:   `mynamespace_namespace1`,
		"// namespace\nnamespace":  "// namespace\nNamespace",
		`br"namespace\" namespace`: `br"namespace\" Namespace`,
		`é"namespace" namespace`:   `é"namespace" Namespace`,
		`\`:                        `\`,
		`"\`:                       `"\`,
		`''namespace''`:            `''Namespace''`,
	} {
		if got := unreserve(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
