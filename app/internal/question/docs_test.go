// SPDX-License-Identifier: Apache-2.0

package question

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocument checks the guide: it has the table of fields, and ten valid questions.
func TestDocument(t *testing.T) {
	const path = "../../../docs/guides/questions.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var fields strings.Builder
	if err := WriteFields(&fields); err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "| field | ")
	old, after, _ := strings.Cut("| field | "+rest, "\n\n")
	if *update {
		if err := os.WriteFile(path, []byte(before+fields.String()+"\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(fields.String(), old+"\n"); diff != "" {
		t.Errorf("%s (run with -update to write it), -want +got:\n%s", path, diff)
	}
	_, rest, _ = strings.Cut(string(page), "```cel\n")
	examples, _, _ := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(examples), "\n")
	if len(lines) != 10 {
		t.Errorf("%s has %d questions, not 10", path, len(lines))
	}
	for _, line := range lines {
		if _, err := Parse(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
