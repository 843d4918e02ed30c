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

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

var fileData = regexp.MustCompile(`(?s)id="data"[^>]*>([^<]*)<`)

// TestFileScheduling: the file says why no node fits, as the server does, also without the spans that say it.
func TestFileScheduling(t *testing.T) {
	of, now := spantest.Rejected(), spantest.Epoch.Add(time.Hour)
	got, err := recordedOf(excerptOf(of, false, now), nil, now, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.LeftOut == 0 {
		t.Error("the scheduler's spans are not left out")
	}
	const want = "No node of 10 fits: 6 lack memory (NodeResourcesFit), 4 are cordoned (NodeUnschedulable). "
	texts := 0
	for _, one := range got.Spans {
		if strings.HasPrefix(one.Scheduling, want) {
			texts++
		}
		if pod := one.Span.Name == "reconcile Pod" || one.Span.Name == span.NameSchedule; !pod && one.Scheduling != "" {
			t.Errorf("%s has the text %q", one.Span.Name, one.Scheduling)
		}
	}
	if texts != 2 {
		t.Errorf("%d texts, want those of the Pod and of its phase", texts)
	}
}

// TestFile: a file has each span once, in the order of the tree, and the note of its maker.
func TestFile(t *testing.T) {
	of, now := spantest.Many(300), spantest.Epoch.Add(time.Hour)
	excerpt := excerptOf(of, false, now)
	var file bytes.Buffer
	if err := HTML(&file, excerpt, nil, now, "from a copy"); err != nil {
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
	tree := arrangedOf(excerpt, now, now)
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
