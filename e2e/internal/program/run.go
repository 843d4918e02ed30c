// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"path/filepath"
	"testing"
)

// lastWords is how much of its log a failed test shows of a program.
const lastWords = 8 << 10

// Run starts a program for as long as a test takes. Its log, if the call names
// none, is the test's; the end of it is shown if the test fails.
func Run(t testing.TB, call Call) *Process {
	t.Helper()
	if call.Log == "" {
		call.Log = filepath.Join(t.TempDir(), "log")
	}
	p, err := Start(call)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the last words of %s:\n%s", filepath.Base(call.Path), p.LastWords())
		}
	})
	return p
}

// LastWords returns the end of the program's output.
func (p *Process) LastWords() string {
	text, err := os.ReadFile(p.call.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-lastWords):])
}
