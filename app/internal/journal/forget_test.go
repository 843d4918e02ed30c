// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestForget removes the entries of the selected traces that are archived, takes their traces off
// the list of kept ones, and overwrites the data.
func TestForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, err := journal.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	named := func(name string) *span.Trace {
		tr := spantest.New(name).Trace
		tr.Spans = []*span.Span{
			{TraceID: tr.ID, ID: trace.SpanID{1}, Name: name, Start: spantest.At(1), End: spantest.At(2)},
		}
		return tr
	}
	gone, waits, given, stays := named("gone"), named("waits"), named("given"), named("stays")
	c := &journal.Changes{AsOf: spantest.Epoch}
	for _, tr := range []*span.Trace{gone, waits, given, stays} {
		c.Entries = append(
			c.Entries,
			&journal.Entry{Item: journal.Item{For: journal.Archive | journal.Sender}, Trace: tr},
		)
	}
	if err := j.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	e := c.Entries
	if err := j.Done(t.Context(), journal.Archive, e[0].Seq, e[2].Seq, e[3].Seq); err != nil {
		t.Fatal(err)
	}
	selected := func(t *span.Trace) bool { return t.ID == gone.ID || t.ID == waits.ID }
	for _, want := range []int{2, 0} { // the second time finds nothing
		ids := []trace.TraceID{given.ID}
		unsent, err := j.Unsent(t.Context(), ids, selected)
		if err != nil || len(unsent) != want {
			t.Errorf("%d entries, %v, want %d", len(unsent), err, want)
		}
		if err := j.Forget(t.Context(), ids, unsent); err != nil {
			t.Error(err)
		}
	}
	for i, there := range []bool{false, true, false, true} {
		_, err := j.Read(t.Context(), e[i].Seq)
		if there && err != nil || !there && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("entry of %s: %v", e[i].Trace.Spans[0].Name, err)
		}
		if kept, _, err := j.Kept(t.Context(), e[i].TraceID); err != nil || kept != there {
			t.Errorf("trace %s is kept: %t, %v", e[i].Trace.Spans[0].Name, kept, err)
		}
	}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"gone", "given"} {
			if bytes.Contains(data, []byte(name)) {
				t.Errorf("%s still has %q", file, name)
			}
		}
	}
}
