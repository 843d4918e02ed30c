// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStates compares the one table of words with the outcomes and with docs/trace-model.md.
func TestStates(t *testing.T) {
	known := map[State]bool{}
	var table strings.Builder
	table.WriteString("| word | meaning |\n| --- | --- |\n")
	for _, w := range States() {
		if known[w.State] {
			t.Errorf("%s has two definitions", w.State)
		}
		known[w.State] = true
		fmt.Fprintf(&table, "| `%s` | %s |\n", w.State, w.Meaning)
	}
	for _, o := range Outcomes {
		if !known[State(o)] {
			t.Errorf("the outcome %s has no definition", o)
		}
	}
	const page, begin, end = "../../../docs/trace-model.md", "<!-- states -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	got, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+table.String()+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table.String(), got); diff != "" {
		t.Errorf("%s (-table +page); -update rewrites it:\n%s", page, diff)
	}
}

func TestStateOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason            string
		open, held, stuck bool
		outcome           Outcome
		want              State
	}{
		"new":        {"an open change is running", true, false, false, "", Running},
		"unfinished": {"the outcome of an open trace says nothing", true, false, false, Unfinished, Running},
		"reason":     {"an open change with a reason is stuck", true, false, true, Unfinished, Stuck},
		"failed":     {"a part has failed, and the rest goes on", true, false, false, Failed, Stuck},
		"paused":     {"a pause is no trouble", true, true, true, Unfinished, Held},
		"settling":   {"nothing goes on, but the trace is not handed out yet", true, false, false, Converged, State(Converged)},
		"ended":      {"the outcome is the word", false, false, true, Converged, State(Converged)},
		"refused":    {"the outcome is the word", false, true, false, Refused, State(Refused)},
		"none":       {"an ended change without an outcome", false, false, false, "", State(Unfinished)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StateOf(tc.open, tc.held, tc.stuck, tc.outcome); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
