// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

func TestDamagedRecordings(t *testing.T) {
	ns := bench.Namespace(t)
	good := t.TempDir() + "/good"
	bench.Run(t, 0, []string{"--record", good}, "kubectl", "apply", "-f", harness.File(t, deployment(ns, "web", 1)))
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	if len(lines) < 20 {
		t.Fatalf("a recording of %d lines", len(lines))
	}
	but := func(i int, text string) string {
		changed := append([]string(nil), lines...)
		changed[i] = text
		return strings.Join(changed, "")
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason     string
		name, text string
		want       string
		// kept says that what comes before the damage is printed.
		kept bool
	}{
		"empty": {"no line is there to name", "r", "", `the file is empty`, false},
		"another file": {
			"its first line says so",
			"r",
			"hello\n",
			`line 1: not the header of a Lifeline recording`,
			false,
		},
		"a later format": {
			"its version is named",
			"r",
			but(0, `{"lifelineRecording":99,"cluster":"c"}`+"\n"),
			`its format is version 99, known is 1`,
			false,
		},
		"no JSON":      {"the line is named", "r", but(9, "{broken\n"), `line 10: damaged: .*`, true},
		"says nothing": {"the line is named", "r", but(9, "{}\n"), `line 10: .*`, true},
		"truncated": {
			"the line is named",
			"r",
			strings.Join(lines[:12], "") + lines[12][:20],
			`line 13: truncated`,
			true,
		},
		"truncated archive": {
			"the line is named",
			"r.gz",
			zipped.String()[:zipped.Len()/2],
			`line \d+: truncated`,
			true,
		},
		"no archive": {"the file is named", "r.gz", "this is no archive\n", `gzip: invalid header`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := write(t, tt.name, tt.text, 0o600)
			p := bench.Begin(t, harness.Call{Args: []string{"replay", path}})
			r := p.Wait(t)
			if r.Code != 1 {
				t.Errorf("exit code %d, want 1", r.Code)
			}
			says(t, r, `lifeline: cannot read recording `+regexp.QuoteMeta(path)+`[:,] `+tt.want)
			if got := strings.Contains(r.Stdout, "kubectl apply"); got != tt.kept {
				t.Errorf("%s: printed the trace: %t, want %t\n%s", tt.reason, got, tt.kept, r.Stdout)
			}
			p.NothingLeft(t)
		})
	}
}
