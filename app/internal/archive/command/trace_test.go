// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestTraceWithoutServer(t *testing.T) {
	dataDir := filled(t, "first")
	export := filepath.Join(t.TempDir(), "traces.jsonl.gz")
	o, _, _ := options(dataDir, "")
	if _, err := (&command.Export{Options: o, File: export}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := spantest.Rollout().ID.String()
	const html = "<!doctype html>"
	several := filled(t, "first", "second")
	damaged := filepath.Join(t.TempDir(), "damaged.jsonl")
	if err := os.WriteFile(damaged, []byte(`{"lifeline": "`+id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(other, []byte("127.0.0.1 localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		reason   string
		from, id string
		tree     bool
		want     string
		err      string
	}{
		"Export": {
			reason: "a compressed export has the trace",
			from:   export, id: id[:8], want: html,
		},
		"Directory": {reason: "so does the data directory", from: dataDir, id: id, want: html},
		"Cluster": {
			reason: "and that of the cluster",
			from:   datadir.Cluster(several, "second"), id: id, want: html,
		},
		"Tree": {
			reason: "other formats work, too",
			from:   export, id: strings.ToUpper(id[:8]), tree: true, want: "reconcile Deployment",
		},
		"Absent": {
			reason: "an unknown ID is an error",
			from:   export, id: "00000000", err: "there is no such trace",
		},
		"Several":  {reason: "two clusters need a choice", from: several, id: id, err: "2 clusters"},
		"NoFile":   {reason: "a missing file is named", from: "/nowhere/x", id: id, err: "/nowhere/x"},
		"Damaged":  {reason: "a damaged line is named", from: damaged, id: id, err: "line 1 of"},
		"NoExport": {reason: "another kind of file is named", from: other, id: id, err: "line 1 of " + other},
		"NoDirectory": {
			reason: "a directory without archives is named",
			from:   t.TempDir(), id: id, err: "own directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			output := cli.OutputHTML
			if test.tree {
				output = cli.OutputTree
			}
			c := &command.Trace{
				Options: cli.Options{Streams: streams, Output: output},
				From:    test.from,
				ID:      test.id,
			}
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			_, err := c.Run(t.Context())
			switch {
			case test.err == "" && err != nil:
				t.Fatalf("%s: %v", test.reason, err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Fatalf("%s: got the error %v, want %q", test.reason, err, test.err)
			case !bytes.Contains(out.Bytes(), []byte(test.want)):
				t.Errorf("%s: the output lacks %q: %.300s", test.reason, test.want, out)
			}
		})
	}
	if err := (&command.Trace{From: export, ID: "deployment/web"}).Validate(); err == nil {
		t.Error("an object is no trace ID")
	}
}
