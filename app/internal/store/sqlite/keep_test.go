// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// occurrences counts a text in the files of a database.
func occurrences(t *testing.T, path, text string) int {
	t.Helper()
	n := 0
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		n += bytes.Count(data, []byte(text))
	}
	return n
}

// TestForgetOverwrites looks at the bytes of the files. Names at random places of the indexes make
// SQLite divide and join pages.
func TestForgetOverwrites(t *testing.T) {
	const seed, traces, confidential = 1, 3000, "confidential"
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s := openAt(t, path)
	revision := int64(0)
	write := func(traces ...*span.Trace) {
		revision++
		must(t, s.Write(t.Context(), &store.Batch{Revision: revision, AsOf: spantest.Epoch, Finished: traces}))
	}
	for n := range traces / 20 {
		var batch []*span.Trace
		for i := range 20 {
			word := "ordinary"
			if random.IntN(4) == 0 {
				word = confidential
			}
			b := spantest.New(fmt.Sprint("trace ", n, i))
			name := fmt.Sprintf("%08x-%s", random.Uint32(), word)
			ref := spantest.Ref("apps", "Deployment", name)
			ref.Namespace = word
			root := b.Add(nil, "reconcile Deployment", "x", ref, n*1000+i, n*1000+900, span.KeyCommand.String(name))
			root.Message = name + string(bytes.Repeat([]byte(" "+word), random.IntN(300)))
			batch = append(batch, b.Trace)
		}
		write(batch...)
		if n%30 == 29 {
			_, err := s.Prune(t.Context(), store.Limits{Before: spantest.At((n - 20) * 1000).Time})
			must(t, err)
		}
	}
	before := occurrences(t, path, confidential)
	got, err := s.Forget(t.Context(), store.Selector{Namespace: confidential})
	must(t, err)
	if after := occurrences(t, path, confidential); after != 0 || before < 1000 || got.Traces == 0 {
		t.Errorf("of %d occurrences, %d are left; %+v", before, after, got)
	}
	if occurrences(t, path, "ordinary") == 0 {
		t.Error("other texts are gone, too")
	}
	write(spantest.Apply())
}

// TestForgetOverwritesTables: nothing of a namespace stays in any table: images, labels and containers
// of Pods are in tables without rowids, whose divided pages keep copies.
func TestForgetOverwritesTables(t *testing.T) {
	const confidential = "confidential"
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s := openAt(t, path)
	traces := 600
	if testing.Short() {
		traces = 150
	}
	h := storetest.Year(traces)
	for n := range traces {
		one := h.Trace(n)
		if n%2 == 0 {
			for i, sp := range one.Spans {
				sp.Object.Namespace = confidential
				if f := sp.Facts; f != nil && f.Pod != nil {
					f.Pod.Images = []string{fmt.Sprintf("registry/%s:%d-%d", confidential, n, i)}
					f.Labels = append(f.Labels, object.Label{Key: confidential, Value: fmt.Sprint(n)})
				}
			}
		}
		must(t, s.Write(t.Context(), &store.Batch{
			Revision: int64(n + 1), AsOf: spantest.Epoch, Finished: []*span.Trace{one},
		}))
	}
	before := occurrences(t, path, confidential)
	_, err := s.Forget(t.Context(), store.Selector{Namespace: confidential})
	must(t, err)
	if after := occurrences(t, path, confidential); after != 0 || before < traces*5/3 {
		t.Errorf("of %d occurrences, %d are left", before, after)
	}
	page, err := s.Find(t.Context(), store.FindQuery{Limit: 1})
	if err != nil || len(page.Lifecycles) != 1 {
		t.Errorf("other lifecycles: %v, %v", page, err)
	}
}
