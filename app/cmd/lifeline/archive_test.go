// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// archived makes the archive of a cluster with one trace.
func archived(t *testing.T, dataDir, uid string) {
	t.Helper()
	dir, err := datadir.Make(dataDir, uid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), store.Config{Path: datadir.Archive(dir)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), &store.Batch{
		Revision: 1, AsOf: spantest.Epoch.Add(time.Hour), Finished: []*span.Trace{spantest.Apply()},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestArchive(t *testing.T) {
	dataDir, one := t.TempDir(), t.TempDir()
	archived(t, dataDir, "aa-1")
	archived(t, dataDir, "bb-2")
	archived(t, one, "cc-3")
	file := filepath.Join(t.TempDir(), "lifeline.yaml")
	if err := os.WriteFile(
		file,
		[]byte("apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\ndataDir: "+one+"\n"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	id := spantest.Apply().ID.String()
	cases := []struct {
		reason, args string
		code         int
		out, log     string
	}{
		{"its help", "archive", 0, "Copy the whole archive", ""},
		{"the default data directory", "archive export", 1, "", `name that of "lifeline serve" with --data-dir`},
		{"several clusters", "archive export --data-dir " + dataDir, 1, "", "choose one with --cluster: aa-1, bb-2\n"},
		{"one of them", "archive export --cluster bb --data-dir " + dataDir, 0, `"lifeline":{`, "exported 1 trace\n"},
		{"the only one", "archive export --data-dir " + one, 0, `"lifeline":{`, "exported 1 trace\n"},
		{"of a configuration", "archive export --config " + file, 0, `"cluster":"cc-3"`, ""},
		{"no configuration", "archive export --config /no/such/file", 1, "", "no such file"},
		{"an argument", "archive export x", 1, "", "unknown command"},
		{
			"no file",
			"archive import",
			1,
			"",
			"lifeline archive import takes one argument, the file to read, or - for stdin",
		},
		{"no target", "archive backup", 1, "", "lifeline archive backup takes one argument, the new file"},
		{"no namespace", "archive forget --yes", 1, "", "lifeline archive forget needs --namespace"},
		{"no confirmation", "archive forget -n default --data-dir " + one, 1, "", "add --yes\n"},
		{"no trace", "archive pin", 1, "", "lifeline archive pin takes one argument"},
		{"a trace", "archive pin " + id[:8] + " --data-dir " + one, 0, "pinned " + id, ""},
		{"and back", "archive unpin " + id[:8] + " --data-dir " + one, 0, "unpinned " + id, ""},
		{"a namespace", "archive forget -n default --yes --data-dir " + one, 0, "removed 1 trace\n", "Open traces"},
		{"nothing", "archive export --data-dir " + one, 0, "", "exported 0 traces\n"},
		{"completion", "__complete archive export --data-dir " + dataDir + " --cluster ", 0, "aa-1\nbb-2\n", ""},
		{"completion", "__complete archive export --since ", 0, "1h\n1d\n7d\n", ""},
	}
	for _, tc := range cases {
		var out, log bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log}
		root := newRoot(streams, "lifeline")
		root.SetArgs(strings.Split(tc.args, " "))
		if code := codeOf(root.ExecuteContext(t.Context()), streams); code != tc.code {
			t.Errorf("%s: code %d, want %d", tc.reason, code, tc.code)
		}
		if !strings.Contains(out.String(), tc.out) {
			t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, tc.out, &out)
		}
		if !strings.Contains(log.String(), tc.log) {
			t.Errorf("%s: standard error lacks %q:\n%s", tc.reason, tc.log, &log)
		}
	}
}
