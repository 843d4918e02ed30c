// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// filled makes a data directory with the archives of clusters, each with traces of namespace default.
func filled(t *testing.T, clusters ...string) (dataDir string) {
	t.Helper()
	dataDir = t.TempDir()
	for _, uid := range clusters {
		dir, err := datadir.Make(dataDir, uid)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), store.Config{Path: datadir.Archive(dir)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), &store.Batch{
			Revision: 1, AsOf: spantest.Epoch.Add(time.Hour),
			Finished: []*span.Trace{spantest.Apply(), spantest.Rollout(), spantest.CrashLoop()},
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dataDir
}

type runner interface {
	Run(ctx context.Context) (int, error)
}

// options returns options with streams in memory.
func options(dataDir, stdin string) (o command.Options, stdout, stderr *bytes.Buffer) {
	streams, in, out, errs := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	return command.Options{
		Streams: streams,
		DataDir: dataDir,
		Now:     func() time.Time { return spantest.Epoch },
	}, out, errs
}

func run(t *testing.T, r runner) {
	t.Helper()
	if code, err := r.Run(t.Context()); code != 0 || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
}

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// exported returns the lines of an export to stdout.
func exported(t *testing.T, dataDir string) string {
	t.Helper()
	o, out, _ := options(dataDir, "")
	run(t, &command.Export{Options: o})
	return out.String()
}

func TestExportToFilesAndBack(t *testing.T) {
	from := filled(t, "cluster-1")
	want := exported(t, from)
	if strings.Count(want, "\n") != 3 {
		t.Fatalf("exported %q", want)
	}
	for _, name := range []string{"traces.jsonl", "traces.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		for range 2 { // the second replaces the first
			o, out, errs := options(from, "")
			run(t, &command.Export{Options: o, File: path})
			contains(t, errs.String(), "lifeline: exported 3 traces to "+path)
			if out.Len() > 0 {
				t.Errorf("stdout has %q", out)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
			t.Errorf("files %v", left)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if zipped := bytes.HasPrefix(data, []byte{0x1f, 0x8b}); zipped != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s is compressed: %t", name, zipped)
		}
		to := t.TempDir()
		for i, said := range []string{"imported 3 traces\n", "imported 0 traces; 3 were in the archive already\n"} {
			o, _, errs := options(to, "")
			run(t, &command.Import{Options: o, File: path})
			contains(t, errs.String(), said)
			if made := strings.Contains(errs.String(), "creates the archive"); made != (i == 0) {
				t.Errorf("round %d: %s", i, errs)
			}
		}
		if got := exported(t, to); got != want {
			t.Error("the traces have changed")
		}
		stdin, _, errs := options(to, string(data))
		run(t, &command.Import{Options: stdin, File: "-"})
		contains(t, errs.String(), "3 were in the archive already")
	}
}

func TestExportSelects(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	for want, e := range map[int]command.Export{
		3: {Namespace: "default", Since: "2026-03-01T00:00:00Z"},
		0: {Since: "2026-03-02T00:00:00Z"},
	} {
		var out, errs *bytes.Buffer
		e.Options, out, errs = options(dataDir, "")
		run(t, &e)
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%d traces, want %d: %s", got, want, errs)
		}
	}
}

func TestExportFails(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	cases := map[string]struct {
		reason string
		export command.Export
		want   string
	}{
		"Since": {
			"",
			command.Export{Since: "yesterday"},
			`--since "yesterday": it must be a duration back from now`,
		},
		"Until":     {"in the future", command.Export{Until: "-1h"}, `--until "-1h": it must be`},
		"Directory": {"", command.Export{File: "/no/such/file"}, "no such file or directory"},
		"Full": {
			"the next step is named", command.Export{File: "/dev/full"},
			"cannot export the archive: write /dev/full: no space left on device: make room on the disk",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.export.Options, _, _ = options(dataDir, "")
			code, err := tc.export.Run(t.Context())
			if code != 1 || err == nil {
				t.Fatalf("%s: code %d, %v", tc.reason, code, err)
			}
			contains(t, err.Error(), tc.want)
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestExportToABrokenPipe(t *testing.T) {
	o, _, errs := options(filled(t, "cluster-1"), "")
	o.Streams.Out = broken{}
	run(t, &command.Export{Options: o})
	if errs.Len() > 0 {
		t.Errorf("stderr has %q", errs)
	}
}

// TestExportInterrupted: neither a partial file nor an earlier one with less data is left.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, _, _ := options(filled(t, "cluster-1"), "")
	code, err := (&command.Export{Options: o, File: filepath.Join(dir, "traces.jsonl")}).Run(ctx)
	if code != 130 || err == nil {
		t.Errorf("code %d, %v", code, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestImportOfDamagedLines(t *testing.T) {
	lines := strings.SplitAfter(exported(t, filled(t, "cluster-1")), "\n")
	text := lines[0] + "\n" + "damage\n" + lines[1] + `{"resourceSpans":[]}` + "\n" + strings.TrimSpace(lines[2])
	to := filled(t, "cluster-2")

	o, _, errs := options(to, text)
	code, err := (&command.Import{Options: o, File: "-"}).Run(t.Context())
	if code != 1 || err == nil {
		t.Fatalf("code %d, %v", code, err)
	}
	contains(t, err.Error(), "cannot import stdin: line 3: damaged: it is not JSON of an export")
	contains(t, errs.String(), "imported 0 traces; 1 were in the archive already")

	o, _, errs = options(to, text)
	run(t, &command.Import{Options: o, File: "-", SkipDamaged: true})
	contains(t, errs.String(), "3 were in the archive already; skipped 2 damaged lines")
	contains(t, errs.String(), `3 traces are of another cluster, such as "cluster-1"`)
}

// TestImportOfOld: without a server, the default retention is the measure.
func TestImportOfOld(t *testing.T) {
	text := exported(t, filled(t, "cluster-1"))
	for days, want := range map[int]bool{1: false, 8: true} {
		o, _, errs := options(filled(t, "cluster-1"), text)
		o.Now = func() time.Time { return spantest.Epoch.Add(time.Duration(days) * 24 * time.Hour) }
		run(t, &command.Import{Options: o, File: "-"})
		const says = "3 traces are older than 7 days: a server with the default retention.age removes them"
		if got := strings.Contains(errs.String(), says); got != want {
			t.Errorf("after %d days: got %q", days, errs)
		}
	}
}

// repeated is an input of n equal bytes.
func repeated(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestImportOfALongFirstLine: the first line counts as every other one does.
func TestImportOfALongFirstLine(t *testing.T) {
	lines := exported(t, filled(t, "cluster-1"))
	for name, clusters := range map[string][]string{"known": {"cluster-1"}, "new": nil} {
		t.Run(name, func(t *testing.T) {
			input := func() io.ReadCloser {
				return io.NopCloser(io.MultiReader(repeated(maintenance.MaxLine+1), strings.NewReader("\n"+lines)))
			}
			to := filled(t, clusters...)
			o, _, _ := options(to, "")
			o.Streams.In = input()
			code, err := (&command.Import{Options: o, File: "-"}).Run(t.Context())
			if code != 1 || err == nil {
				t.Fatalf("code %d, %v; the line was dropped", code, err)
			}
			contains(t, err.Error(), "line 1: it has more than 256 MiB")

			o, _, errs := options(to, "")
			o.Streams.In = input()
			run(t, &command.Import{Options: o, File: "-", SkipDamaged: true})
			contains(t, errs.String(), "skipped 1 damaged lines")
			if got := exported(t, to); got != lines {
				t.Error("the other lines are not in the archive")
			}
		})
	}
}

func TestImportFails(t *testing.T) {
	whole := exported(t, filled(t, "cluster-1"))
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(zip, whole); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason, stdin string
		clusters      []string
		cluster, want string
	}{
		"Cut": {
			"an incomplete copy of a file", zipped.String()[:zipped.Len()-20], []string{"a"}, "",
			"the file is damaged: unexpected EOF",
		},
		"NotGzip":  {"", "\x1f\x8bx", []string{"a"}, "", "not a whole gzip file"},
		"Nothing":  {"the cluster is unknown", "", nil, "", "line 1: damaged"},
		"Several":  {"", whole, []string{"a", "b"}, "", "choose one with --cluster: a, b"},
		"Mistyped": {"no archive is made by mistake", whole, []string{"a"}, "b", "--cluster b: it must be one of"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dataDir := filled(t, tc.clusters...)
			o, _, _ := options(dataDir, tc.stdin)
			o.ClusterUID = tc.cluster
			code, err := (&command.Import{Options: o, File: "-"}).Run(t.Context())
			if code != 1 || err == nil {
				t.Fatalf("%s: code %d, %v", tc.reason, code, err)
			}
			contains(t, err.Error(), tc.want)
			if got, _ := os.ReadDir(dataDir); len(got) != len(tc.clusters) {
				t.Errorf("the data directory has %v", got)
			}
		})
	}
	t.Run("NewCluster", func(t *testing.T) {
		dataDir := filled(t, "other")
		o, _, errs := options(dataDir, whole)
		o.ClusterUID = "cluster-1"
		run(t, &command.Import{Options: o, File: "-"})
		contains(t, errs.String(), "imported 3 traces")
	})
}

func TestClusters(t *testing.T) {
	cases := map[string]struct {
		reason   string
		clusters []string
		cluster  string
		want     string // of the error
	}{
		"One":       {"it is the default", []string{"aa"}, "", ""},
		"Several":   {"", []string{"aa", "ab"}, "", "of 2 clusters: choose one with --cluster: aa, ab"},
		"Named":     {"", []string{"aa", "ab"}, "ab", ""},
		"Beginning": {"", []string{"aa", "bb"}, "a", ""},
		"Ambiguous": {"", []string{"aa", "ab"}, "a", "--cluster a: it must be one of the clusters in"},
		"Unknown":   {"", []string{"aa"}, "c", "--cluster c: it must be one of the clusters in"},
		"None":      {"", nil, "", "there is no archive of a cluster in"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, _, _ := options(filled(t, tc.clusters...), "")
			o.ClusterUID = tc.cluster
			_, err := (&command.Export{Options: o}).Run(t.Context())
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "" && err == nil:
				t.Error("no error")
			case tc.want != "":
				contains(t, err.Error(), tc.want)
			}
		})
	}
	o, _, _ := options("/no/such/directory", "")
	if _, err := (&command.Export{Options: o}).Run(t.Context()); err == nil {
		t.Error("no error without a data directory")
	} else {
		contains(
			t,
			err.Error(),
			`there is no data directory /no/such/directory: name that of "lifeline serve" with --data-dir`,
		)
	}
}

// TestInUse: another process has the archive, and offers nothing.
func TestInUse(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	held, err := maintenance.Open(t.Context(), datadir.Cluster(dataDir, "cluster-1"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	o, _, _ := options(dataDir, "")
	_, err = (&command.Export{Options: o}).Run(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "in use by process")
	contains(t, err.Error(), "try again, or stop it first")
}

func TestBackup(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	path := filepath.Join(t.TempDir(), "copy.db")
	o, _, errs := options(dataDir, "")
	run(t, &command.Backup{Options: o, File: path})
	contains(t, errs.String(), "copied the archive of cluster cluster-1 to "+path)
	o, _, _ = options(dataDir, "")
	if _, err := (&command.Backup{Options: o, File: path}).Run(t.Context()); err == nil {
		t.Error("an existing file was replaced")
	} else {
		contains(t, err.Error(), "exists: choose a new name")
	}
	o, out, _ := options(dataDir, "")
	run(t, &command.Backup{Options: o, File: "-"})
	restored := t.TempDir()
	dir, err := datadir.Make(restored, "cluster-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.Archive(dir), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if exported(t, restored) != exported(t, dataDir) {
		t.Error("the copy has other traces")
	}
}

func TestForget(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	o, _, _ := options(dataDir, "default\n")
	code, err := (&command.Forget{Options: o, Namespace: "default"}).Run(t.Context())
	if code != 1 || err == nil {
		t.Fatalf("without a terminal: code %d, %v", code, err)
	}
	contains(t, err.Error(), "this needs a confirmation: add --yes")
	if exported(t, dataDir) == "" {
		t.Fatal("traces were removed without a confirmation")
	}
	o, out, errs := options(dataDir, "")
	run(t, &command.Forget{Options: o, Namespace: "default", Yes: true})
	contains(t, out.String(), "removed 3 traces, 1 of which also touched other namespaces\n")
	contains(t, errs.String(), "Open traces, what happens in the namespace from now on, exports, backups")
	if got := exported(t, dataDir); got != "" {
		t.Errorf("left %s", got)
	}
}

func TestPin(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	id := spantest.Apply().ID.String()
	for _, step := range []struct {
		off  bool
		want string
	}{
		{false, "pinned " + id + ": "}, {false, id + " was pinned already: "},
		{true, "unpinned " + id + ": "}, {true, id + " was not pinned: "},
	} {
		o, out, _ := options(dataDir, "")
		run(t, &command.Pin{Options: o, Trace: id[:8], Off: step.off})
		contains(t, out.String(), step.want)
	}
	o, _, _ := options(dataDir, "")
	if _, err := (&command.Pin{Options: o, Trace: "ffffffff"}).Run(t.Context()); err == nil {
		t.Error("an absent trace was pinned")
	} else {
		contains(t, err.Error(), "cannot pin ffffffff: not found: no finished trace begins with ffffffff")
	}
}
