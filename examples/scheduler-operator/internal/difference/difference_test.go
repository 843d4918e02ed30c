// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// attempt returns the spans of an attempt that bound a Pod, in JSON.
func attempt(node string, plugins ...string) []string { return ended("bound", node, plugins...) }

// ended returns the spans of an attempt with an outcome, in JSON. Its plugins are below their point.
func ended(outcome, node string, plugins ...string) []string {
	id := strconv.Itoa(count)
	count++
	out := []string{
		fmt.Sprintf(`{"spanId": "a%s", "name": "scheduling attempt", "attributes": [
			{"key": "k8s.scheduler.outcome", "value": {"stringValue": "%s"}},
			{"key": "k8s.node.name", "value": {"stringValue": "%s"}}]}`, id, outcome, node),
		fmt.Sprintf(`{"spanId": "p%[1]s", "parentSpanId": "a%[1]s", "name": "Filter"}`, id),
	}
	for i, plugin := range plugins {
		out = append(out, fmt.Sprintf(`{"spanId": "%s.%d", "parentSpanId": "p%s",%s`, id, i, id, plugin[1:]))
	}
	return out
}

// count makes the IDs of the attempts differ.
var count int

func filter(name string, rejected int) string {
	return fmt.Sprintf(`{"name": "Filter %[1]s", "attributes": [
		{"key": "k8s.scheduler.plugin", "value": {"stringValue": %[1]q}},
		{"key": "k8s.scheduler.nodes.rejected", "value": {"intValue": "%[2]d"}}]}`, name, rejected)
}

func score(name string, first, second int) string {
	return fmt.Sprintf(`{"name": "Score %[1]s", "attributes": [
		{"key": "k8s.scheduler.plugin", "value": {"stringValue": %[1]q}},
		{"key": "k8s.scheduler.score", "value": {"intValue": "%[2]d"}},
		{"key": "k8s.scheduler.score.second", "value": {"intValue": "%[3]d"}}]}`, name, first, second)
}

func read(t *testing.T, attempts ...[]string) Attempts {
	t.Helper()
	var spans []string
	for _, a := range attempts {
		spans = append(spans, a...)
	}
	out, err := Read(strings.NewReader(
		`{"resourceSpans": [{"scopeSpans": [{"spans": [` + strings.Join(spans, ",") + `]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPrint(t *testing.T) {
	before := read(t,
		attempt("node-1", filter("TaintToleration", 1), filter("NodeName", 0), score("NodeResourcesFit", 90, 90)),
		attempt("node-2", filter("TaintToleration", 1), filter("NodeName", 0), score("NodeResourcesFit", 80, 70)),
	)
	after := read(t,
		attempt("node-0", filter("NodeName", 0), score("NodeResourcesFit", 250, 30), score("Mine", 1, 0)),
		attempt(`node-0\u001b[31m`, filter("NodeName", 0), score("NodeResourcesFit", 260, 30)),
	)
	var out strings.Builder
	if err := Print(&out, before, after); err != nil {
		t.Fatal(err)
	}
	want := `                         BEFORE                     AFTER
Filter TaintToleration   2 nodes rejected           –
Score Mine               –                          score 1, second 0
Score NodeResourcesFit   score 85, second 80        score 255, second 30
Pods                     1 on node-1, 1 on node-2   1 on node-0, 1 on node-0[31m
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFailedAttempts: an attempt that bound no Pod does not count, nor does a plugin of no attempt.
func TestFailedAttempts(t *testing.T) {
	bound := attempt("node-1", filter("TaintToleration", 1), score("NodeResourcesFit", 90, 80))
	want := read(t, bound)
	got := read(t, bound,
		ended("unschedulable", "", filter("TaintToleration", 5), score("NodeResourcesFit", 10, 0)),
		[]string{
			filter("NodeName", 3),
			`{"spanId": "loop", "parentSpanId": "loop",` + filter("NodePorts", 3)[1:],
		})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Attempts{}, plugin{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{":  "cannot read the trace",
		"{}": `no span "scheduling attempt"`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
