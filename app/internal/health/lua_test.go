// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// scripted compiles a check.
func scripted(t *testing.T, text string) *script {
	t.Helper()
	s, err := compiled(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSandbox: a check has no access to files, clocks, random numbers, programs and long texts, and it ends.
func TestSandbox(t *testing.T) {
	for name, text := range map[string]string{
		"io":            `io.open("/etc/passwd") return {status="Healthy"}`,
		"os":            `os.time() return {status="Healthy"}`,
		"environment":   `getfenv(0).io.open("x") return {status="Healthy"}`,
		"print":         `print("x") return {status="Healthy"}`,
		"load":          `loadstring("return 1")() return {status="Healthy"}`,
		"file":          `dofile("/etc/passwd") return {status="Healthy"}`,
		"require":       `require("os") return {status="Healthy"}`,
		"global table":  `_G.io.open("x") return {status="Healthy"}`,
		"rep":           `string.rep("x", 1e9) return {status="Healthy"}`,
		"rep of a text": `local x = ("x"):rep(1e9) return {status="Healthy"}`,
		"random":        `math.random() return {status="Healthy"}`,
		"endless":       `while true do end`,
		"endless call":  `local function f() return f() end f()`,
		"deep call":     `local function f() return 1 + f() end f()`,
		"caught":        `while true do pcall(function() end) end`,
		"coroutine":     `coroutine.create(function() end) return {status="Healthy"}`,
		"no table":      `return "Healthy"`,
		"no status":     `return {message="x"}`,
		"error":         `error("x")`,
	} {
		t.Run(name, func(t *testing.T) {
			if state, _, err := scripted(t, text).run(fields{"kind": "A"}); err == nil {
				t.Errorf("got %q, want an error", state)
			}
		})
	}
}

// TestRunsAlike: runs do not share variables, and see the fields of an object in one order.
func TestRunsAlike(t *testing.T) {
	s := scripted(t, `seen = (seen or 0) + 1
		local keys = ""
		for k, _ in pairs(obj.spec) do keys = keys .. k end
		return {status="Healthy", message=seen .. keys}`)
	obj := fields{"spec": fields{"d": true, "a": int64(1), "c": "x", "b": []any{1.5}, "e": nil}}
	for range 20 {
		_, message, err := s.run(obj)
		if err != nil || message != "1abcd" {
			t.Fatalf("got %q, %v", message, err)
		}
	}
}

// TestLargeObject: a check does not run with an object that is too large or too deep.
func TestLargeObject(t *testing.T) {
	s := scripted(t, `return {status="Healthy"}`)
	wide, deep := make([]any, maxValues+1), fields{}
	for range maxDepth + 1 {
		deep = fields{"a": deep}
	}
	for name, obj := range map[string]fields{"wide": {"a": wide}, "deep": deep} {
		if name == "wide" {
			for i := range wide {
				wide[i] = true
			}
		}
		if _, _, err := s.run(obj); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestScripts: all checks compile, and an object without fields gives none of them a crash.
func TestScripts(t *testing.T) {
	if n := len(checkPaths()); n < 200 {
		t.Fatalf("got %d checks", n)
	}
	for _, path := range checkPaths() {
		parts := strings.Split(path, "/")
		for _, status := range []any{nil, fields{}, "text", []any{}, fields{"conditions": "x", "phase": int64(1)}} {
			group := strings.ReplaceAll(parts[0], "_", "x")
			obj := fields{"apiVersion": group + "/v1", "kind": parts[1], "status": status}
			s := read(obj)
			if scriptOf(s.kind) == nil {
				t.Errorf("%s: no check for %s", path, s.kind)
			}
			if v := NewJudge(nil, new(Signals)).Of(obj); v.Progress == "" {
				t.Errorf("%s: no verdict", path)
			}
		}
	}
}

// TestFailingCheck: an error in a check leaves the verdict to the next source.
func TestFailingCheck(t *testing.T) {
	obj := fields{ // the check of this kind compares the generation with a number
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": fields{"generation": "x"},
		"status": fields{"observedGeneration": int64(1), "phase": "Healthy"},
	}
	v := NewJudge(nil, new(Signals)).Of(obj)
	if diff := cmp.Diff(Verdict{Progress: observation.ProgressCurrent, By: observation.JudgedByNames}, v); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// BenchmarkOf judges an object by a check and by names.
func BenchmarkOf(b *testing.B) {
	conditions := []any{fields{"type": "Ready", "status": "True", "reason": "Ready"}}
	for name, obj := range map[string]fields{
		"check": {"apiVersion": "kafka.strimzi.io/v1", "kind": "Kafka", "status": fields{"conditions": conditions}},
		"names": {"apiVersion": "example.com/v1", "kind": "Widget", "status": fields{"conditions": conditions}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			j := NewJudge(nil, new(Signals))
			for b.Loop() {
				j.Of(obj)
			}
		})
	}
}
