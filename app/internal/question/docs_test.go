// SPDX-License-Identifier: Apache-2.0

package question_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// TestDocument checks the guide: it has the table of fields, and ten valid questions.
func TestDocument(t *testing.T) {
	const path = "../../../docs/guides/questions.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := question.WriteFields(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table.String()) {
		t.Errorf("%s lacks the table of fields: copy testdata/fields.md", path)
	}
	_, rest, _ := strings.Cut(string(page), "```cel\n")
	examples, _, _ := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(examples), "\n")
	if len(lines) != 10 {
		t.Errorf("%s has %d questions, not 10", path, len(lines))
	}
	for _, line := range lines {
		if _, err := question.Parse(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
