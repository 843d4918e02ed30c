// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keepVariable names the directory that gets, of each test that fails, what its
// runs saw (for lifeline replay) and the API server's audit log. Unset, nothing
// is kept.
const keepVariable = "LIFELINE_E2E_KEEP"

// kept returns the flags that make a run record what it sees, if a failure's
// recordings are to be kept and the run does not record anyway.
func (b *Bench) kept(t testing.TB, flags []string) []string {
	t.Helper()
	to := os.Getenv(keepVariable)
	if to == "" || slices.Contains(flags, "--record") {
		return nil
	}
	file := filepath.Join(t.TempDir(), "seen.jsonl")
	t.Cleanup(func() {
		if t.Failed() {
			b.keep(t, to, file)
		}
	})
	return []string{"--record", file}
}

func (b *Bench) keep(t testing.TB, to, recording string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Errorf("cannot keep what the test saw: %v", err)
		return
	}
	dir, err := os.MkdirTemp(to, strings.ReplaceAll(t.Name(), "/", "_")+"-")
	for _, file := range []string{recording, b.AuditLog()} {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(file)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600)
		}
	}
	if err != nil {
		t.Errorf("cannot keep what the test saw: %v", err)
		return
	}
	t.Log("kept what the test saw in", dir)
}
