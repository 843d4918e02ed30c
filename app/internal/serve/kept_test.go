// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/replay"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var updateKept = flag.Bool("update-kept", false, "write the answers from the data of releases")

// TestKept opens the data of each release: the archive, the journal with the saved engine of a killed server, a
// recording and an export. The answers are those of that release: docs/upgrade.md.
func TestKept(t *testing.T) {
	releases, err := filepath.Glob(filepath.Join("testdata", "*", "data.tar.gz"))
	must(t, err)
	if len(releases) == 0 {
		t.Fatal("no data of a release")
	}
	for _, file := range releases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var got strings.Builder
			keptFiles(t, file, &got)
			fmt.Fprintln(&got, "\n== recording ==")
			keptRecording(t, filepath.Join(dir, "recording.jsonl.gz"), &got)
			fmt.Fprintln(&got, "\n== export ==")
			keptExport(t, filepath.Join(dir, "export.jsonl.gz"), &got)
			golden := filepath.Join(dir, "answers.out")
			if *updateKept {
				must(t, os.WriteFile(golden, []byte(got.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if diff := gocmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("-release +now:\n%s", diff)
			}
		})
	}
}

// keptFiles starts the storage of a server with the files of a killed one, looks once, and prints what it has.
func keptFiles(t *testing.T, file string, out io.Writer) {
	t.Helper()
	conf := config.Default()
	conf.DataDir = t.TempDir()
	unpack(t, file, conf.DataDir)
	dirs, err := datadir.Clusters(conf.DataDir)
	must(t, err)
	j, err := journal.Open(t.Context(), datadir.Journal(datadir.Cluster(conf.DataDir, dirs[0])))
	must(t, err)
	waiting, err := j.Pending(t.Context(), journal.Sender)
	must(t, err)
	must(t, j.Close())
	log := newWaitingLog()
	s, err := startStorage(t.Context(), conf, dirs[0], log)
	must(t, err)
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	if s.recorder.discarded != nil {
		t.Errorf("the saved engine is of no use: %v", s.recorder.discarded)
	}
	<-s.archive.Opened()
	now := s.recorder.last.Add(time.Second)
	must(t, s.recorder.look(t.Context(), now))
	list, err := s.view.List(t.Context(), store.Query{})
	must(t, err)
	fmt.Fprintf(out, "== stored: %d traces, %d entries wait for the backend ==\n", len(list.Traces), len(waiting))
	var traces []*span.Trace
	for _, summary := range list.Traces {
		one, err := s.view.Trace(t.Context(), store.Scope{}, summary.ID)
		must(t, err)
		traces = append(traces, one.Trace)
	}
	printed(t, traces, now, out)
	if text := log.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") {
		t.Errorf("not without a complaint:\n%s", text)
	}
}

// printed writes traces as trees, the first one first.
func printed(t *testing.T, traces []*span.Trace, now time.Time, out io.Writer) {
	t.Helper()
	slices.SortFunc(traces, func(a, b *span.Trace) int {
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	slices.SortStableFunc(traces, func(a, b *span.Trace) int {
		return a.Root().Start.Time.Compare(b.Root().Start.Time)
	})
	must(t, render.Tree(out, traces, render.Options{Now: now, Width: 120, Full: true}))
}

// keptRecording writes the traces in a recording.
func keptRecording(t *testing.T, path string, out io.Writer) {
	t.Helper()
	file, err := observation.Open(path)
	must(t, err)
	defer file.Close()
	result, err := replay.Traces(t.Context(), file.Reader)
	must(t, err)
	printed(t, result.Traces, result.End, out)
}

// keptExport writes the traces in an export.
func keptExport(t *testing.T, path string, out io.Writer) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	must(t, err)
	text, err := io.ReadAll(unpacked)
	must(t, err)
	var traces []*span.Trace
	for line := range bytes.Lines(text) {
		one, err := document.Decode(line)
		must(t, err)
		whole := &span.Trace{ID: one.ID()}
		for _, batch := range one.Batches {
			for _, part := range slices.Concat(batch.Finished, batch.Amendments) {
				whole.Outcome, whole.Reason = cmp.Or(whole.Outcome, part.Outcome), cmp.Or(whole.Reason, part.Reason)
				whole.Spans = append(whole.Spans, part.Spans...)
			}
		}
		whole.Spans = span.TreeOrder(whole.Spans)
		traces = append(traces, whole)
	}
	printed(t, traces, time.Time{}, out)
}

// unpack unpacks a compressed tar file into a directory.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	must(t, err)
	for files := tar.NewReader(unpacked); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		data, err := io.ReadAll(files)
		must(t, err)
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, data, 0o600))
	}
}
