// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var fileData = regexp.MustCompile(`(?s)id="data"[^>]*>([^<]*)<`)

// TestFile: a file has each span once, in the order of the tree, and the note of its maker.
func TestFile(t *testing.T) {
	of, now := spantest.Many(300), spantest.Epoch.Add(time.Hour)
	sum := store.Summarize(of, now)
	var file bytes.Buffer
	if err := HTML(&file, of, &sum, nil, now, "from a copy"); err != nil {
		t.Fatal(err)
	}
	found := fileData.FindSubmatch(file.Bytes())
	if found == nil {
		t.Fatal("the file has no data")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	in, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var got recorded
	if err := json.NewDecoder(in).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spans) != len(of.Spans) || len(got.Order) != len(of.Spans) || got.Note != "from a copy" {
		t.Errorf("%d spans, %d in order, want %d; note %q", len(got.Spans), len(got.Order), len(of.Spans), got.Note)
	}
	tree := arrangedOf(of, &sum, now)
	all, _ := tree.Find(containing("web"), len(of.Spans))
	var want []string
	for _, s := range all {
		want = append(want, s.ID.String())
	}
	kept := slices.DeleteFunc(slices.Clone(got.Order), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(kept, want) {
		t.Errorf("the order is not that of a server's search")
	}
}
