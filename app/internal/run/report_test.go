// SPDX-License-Identifier: Apache-2.0

package run

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReportsAreChecked: a report that cannot be written is an error before the command runs.
func TestReportsAreChecked(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none", "report")
	for name, c := range map[string]Command{"summary": {Summary: none}, "junit": {JUnit: none}} {
		if err := c.checkReports(); err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s: got %v, want an error with the path", name, err)
		}
	}
	if err := (&Command{Summary: filepath.Join(t.TempDir(), "summary.md")}).checkReports(); err != nil {
		t.Error(err)
	}
}
