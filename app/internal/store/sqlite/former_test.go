// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func unzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	data, err := io.ReadAll(z)
	must(t, err)
	return data
}

// former returns the path of a store that the last version with state has written: 40 finished
// traces of packages spantest and storetest, some of them twice or amended, links, spans of other
// components, invalid texts; three open traces; one withdrawn; one known by an amendment alone.
func former(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lifeline.db")
	must(t, os.WriteFile(path, unzip(t, "former.db.gz"), 0o600))
	return path
}

// TestMigrate: all finished traces, writes and causes are the same as in the answers of the last
// version with state. Fields that it did not have do not count.
func TestMigrate(t *testing.T) {
	path := former(t)
	s := openAt(t, path)
	if got := s.Opening(); got.SetAside != "" || got.Version != 5 {
		t.Errorf("Opening is %+v", got)
	}
	ctx := t.Context()
	page, err := s.List(ctx, store.Query{Limit: store.MaxPage})
	must(t, err)
	writes, err := s.Writes(ctx, store.WriteQuery{Limit: store.MaxPage})
	must(t, err)
	answers := map[string]any{"list": page.Traces, "writes": formerWrites(writes.Writes)}
	for _, sum := range page.Traces {
		r, err := s.Trace(ctx, store.Scope{}, sum.ID)
		must(t, err)
		for _, one := range r.Trace.Spans {
			for i := range one.Links {
				one.Links[i].Attributes = one.Links[i].AllAttributes()
			}
		}
		answers["trace "+sum.ID.String()] = r
		answers["causes "+sum.ID.String()], err = s.Causes(ctx, store.Scope{}, sum.ID)
		must(t, err)
	}
	var want, got any
	must(t, json.Unmarshal(unzip(t, "former.json.gz"), &want))
	data, err := json.Marshal(answers)
	must(t, err)
	must(t, json.Unmarshal(data, &got))
	if d := cmp.Diff(want, common(want, got)); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
	counts, err := s.Stats(ctx, store.Scope{})
	must(t, err)
	if counts.Traces != int64(len(page.Traces)) || counts.Writes < int64(len(writes.Writes)) || counts.Revision != 4 {
		t.Errorf("stats are %+v", counts)
	}

	// The amendment of a former open trace waits for it.
	_, open, _ := takenOver(t, former(t))
	i := slices.IndexFunc(open, func(r *store.Record) bool { return len(r.Trace.Spans) == 3 })
	late := *open[i].Trace
	late.Spans = late.Spans[:2]
	must(t, s.Write(ctx, &store.Batch{Revision: 5, AsOf: spantest.Epoch, Finished: []*span.Trace{&late}}))
	if r, err := s.Trace(
		ctx,
		store.Scope{},
		late.ID,
	); err != nil || len(r.Trace.Spans) != 3 ||
		r.Trace.Spans[2].Name != "amend" {
		t.Errorf("a former open trace: %+v, %v", r, err)
	}
}

// formerWrites returns the writes with the names of the last version with state.
func formerWrites(all []store.Write) []map[string]any {
	out := make([]map[string]any, len(all))
	for i, w := range all {
		out[i] = map[string]any{
			"TraceID": w.TraceID, "SpanID": w.SpanID, "Object": w.Object, "Verb": w.Verb, "Part": w.Part,
			"Subresource": w.Subresource, "ResourceVersion": w.ResourceVersion, "Generation": w.Generation,
			"Actor": w.Actor, "User": w.User, "Start": w.Start, "End": w.End, "Source": w.Source,
		}
	}
	return out
}

// common returns the members of got that want has, too.
func common(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for name, value := range g {
			if there, ok := w[name]; ok {
				out[name] = common(there, value)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(g))
		for i := range g {
			out[i] = common(w[i], g[i])
		}
		return out
	}
	return got
}

// takenOver reads everything of a former store.
func takenOver(t *testing.T, path string) (states map[string][]byte, open []*store.Record, revision int64) {
	t.Helper()
	f, err := sqlite.OpenFormer(t.Context(), path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	states, err = f.States(t.Context(), "")
	must(t, err)
	open, skipped, err := f.OpenTraces(t.Context())
	must(t, err)
	if skipped != 0 {
		t.Errorf("%d open traces were skipped", skipped)
	}
	revision, err = f.Revision(t.Context())
	must(t, err)
	return states, open, revision
}

func TestFormer(t *testing.T) {
	path := former(t)
	before, err := os.ReadFile(path)
	must(t, err)
	states, open, revision := takenOver(t, path)
	want := map[string][]byte{
		"engine": []byte("engine\x00state"), "journal/00000000000000000001": []byte("journal"),
		"watch/pods": []byte("4711"), "watch/nodes": {}, "outbox/1": []byte("x"),
	}
	if d := cmp.Diff(want, states); d != "" {
		t.Errorf("state (-want +got):\n%s", d)
	}
	got := map[string][2]int{}
	for _, r := range open {
		if !r.Open || r.Outcome != span.Unfinished || r.Reason != "waiting" || r.Revision != 2 ||
			!r.AsOf.Equal(spantest.Epoch.Add(time.Hour)) {
			t.Errorf("an open trace is %+v", r.Summary)
		}
		got[r.Object.Name] = [2]int{len(r.Trace.Spans), r.Spans}
	}
	if d := cmp.Diff(map[string][2]int{"change-900001": {4, 4}, "change-900002": {3, 3}}, got); d != "" {
		t.Errorf("spans of open traces (-want +got):\n%s", d)
	}
	if revision != 4 {
		t.Errorf("revision is %d", revision)
	}
	f, err := sqlite.OpenFormer(t.Context(), path)
	must(t, err)
	defer f.Close()
	if some, err := f.States(t.Context(), "watch/"); err != nil || len(some) != 2 {
		t.Errorf("states of a prefix: %q, %v", some, err)
	}
	if _, err := sqlite.OpenFormer(t.Context(), path); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second opener: %v", err)
	}
	apply := spantest.Apply()
	if r, err := f.Trace(t.Context(), apply.ID); err != nil || r.Open || r.Outcome != span.Converged {
		t.Errorf("a finished trace: %+v, %v", r, err)
	}
	if _, err := f.Trace(t.Context(), [16]byte{1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an absent trace: %v", err)
	}
	must(t, f.Close())
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}

// TestNoFormer: there is nothing to take over, or it cannot be read.
func TestNoFormer(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		make   func(t *testing.T, path string)
		want   error
	}{
		"no file": {"the first start", func(*testing.T, string) {}, nil},
		"empty": {"a start that was killed", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
		}, nil},
		"archive": {"the second start", func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), store.Config{Path: path})
			must(t, errors.Join(err, s.Close()))
		}, nil},
		"damaged": {"Open sets it aside", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytes.Repeat([]byte("garbage!"), 1000), 0o600))
		}, store.ErrDamaged},
		"damaged state": {"a half of the state misleads", func(t *testing.T, path string) {
			data := unzip(t, "former.db.gz")
			at := bytes.Index(data, []byte("engine\x00state")) / 4096 * 4096
			copy(data[at:at+4096], bytes.Repeat([]byte{0x55}, 4096))
			must(t, os.WriteFile(path, data, 0o600))
		}, store.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			path := filepath.Join(t.TempDir(), "lifeline.db")
			tc.make(t, path)
			f, err := sqlite.OpenFormer(t.Context(), path)
			if f != nil || !errors.Is(err, tc.want) {
				t.Errorf("%v, %v", f, err)
			}
			if found, _ := filepath.Glob(path + ".damaged*"); len(found) > 0 {
				t.Errorf("was moved to %v", found)
			}
		})
	}
}

// TestFormerSkips: an open trace that cannot be read does not hide the others.
func TestFormerSkips(t *testing.T) {
	path := former(t)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(
		t.Context(),
		"UPDATE spans SET data = x'ff' WHERE name = 'amend' AND trace IN (SELECT num FROM traces WHERE phase = 1)",
	)
	must(t, errors.Join(err, db.Close()))
	f, err := sqlite.OpenFormer(t.Context(), path)
	must(t, err)
	defer f.Close()
	open, skipped, err := f.OpenTraces(t.Context())
	if err != nil || len(open) != 1 || skipped != 1 {
		t.Errorf("%d open traces, %d skipped, %v", len(open), skipped, err)
	}
}
