// SPDX-License-Identifier: Apache-2.0

package real

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// recording is the file of `make demo`.
const recording = "examples/web.recording.jsonl.gz"

var update = flag.Bool("update", false, "rewrite "+recording)

// TestExample applies the example on a real node. Its trace has the same tree as the shipped
// recording.
func TestExample(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	shipped, fresh := filepath.Join(top, recording), filepath.Join(t.TempDir(), "fresh.jsonl.gz")
	defer bench.MustKubectl(t, "", "delete", "--wait", "-f", filepath.Join(top, "examples/web.yaml"))
	run := harness.Parse(t, bench.Do(t, harness.Call{
		Args: []string{"run", "-o", "json", "--record", fresh, "--", "kubectl", "apply", "-f", "examples/web.yaml"},
		Dir:  top,
	}))
	if run.Code != 0 {
		t.Fatalf("exit code %d\n%s", run.Code, run.Stderr)
	}
	if *update {
		data, err := os.ReadFile(fresh)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(shipped, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replayed := harness.Parse(t, bench.Exec(t, "replay", "-o", "json", shipped))
	if diff := cmp.Diff(outline(replayed.Traces[0]), outline(run.Traces[0])); diff != "" {
		t.Errorf("tree of the example (-recording +this run):\n%s", diff)
	}
	if len(replayed.Traces[0].Find(pull, "")) == 0 {
		t.Errorf("the trace of the recording has no phase %q", pull)
	}
}

// outline draws a trace without the random part of its Pods' names, and without the pulls of the
// image: the second Pod needs none if the first one's has ended.
func outline(tr *harness.Trace) string {
	names, shown := harness.Names{}, *tr
	shown.Spans = nil
	for _, s := range tr.Spans {
		if s.Attributes["k8s.pod.name"] != "" {
			names = names.With(s.Object(), "Pod of web")
		}
		if s.Name != pull {
			shown.Spans = append(shown.Spans, s)
		}
	}
	return names.Outline(&shown)
}

// pull is the phase of a Pod that pulls an image.
const pull = "pull image"
