// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/outline"
	"github.com/kube-lifeline/lifeline/app/internal/page"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxFileSpans bounds the spans in a file. Beyond it, spans of other components are left out.
const maxFileSpans = 50_000

// recorded has the answers about one trace, for a file without a server.
type recorded struct {
	Tree *Tree `json:"tree"`
	// Lists are the answers for the keys of the tree.
	Lists map[string]*Tree `json:"lists"`
	// Spans are all spans by ID, and Order has their IDs in the order of the tree, as a search has them.
	Spans map[string]*recordedSpan `json:"spans"`
	Order []string                 `json:"order"`
	// Causes are the edges between this trace and others.
	Causes []Cause `json:"causes"`
	// LeftOut is the number of spans of other components that are not in the file.
	LeftOut int `json:"leftOut,omitempty"`
	// Note limits what the trace says; empty for one of a server.
	Note string `json:"note,omitempty"`
}

// recordedSpan is a span without the way to it: Up is the span above, and Key opens the list with it.
type recordedSpan struct {
	SpanDetail
	Up  string `json:"up,omitempty"`
	Key string `json:"key"`
}

// HTML writes one file with the page's view of a trace, which needs no server. Open spans last until now. The
// file shows the note, unless it is empty.
func HTML(w io.Writer, e *store.Excerpt, causes []store.Cause, now time.Time, note string) error {
	data, err := recordedOf(e, causes, now, maxFileSpans)
	if err != nil {
		return err
	}
	data.Note = note
	doc, err := marshal(data)
	if err != nil {
		return err
	}
	return page.File(w, titleOf(e.Summary()), doc)
}

// recordedOf returns the data of a file with at most that many spans.
func recordedOf(e *store.Excerpt, causes []store.Cause, now time.Time, limit int) (*recorded, error) {
	attempts := answer.AttemptsOf(e.Trace()) // with the spans that are left out
	e, left := bounded(e, limit)
	arranged := arrangedOf(e, now, now)
	out := &recorded{
		Tree:    arranged.answer(),
		Lists:   map[string]*Tree{},
		Spans:   map[string]*recordedSpan{},
		Order:   []string{},
		Causes:  []Cause{},
		LeftOut: left,
	}
	const roots = "c0000000000000000"
	if err := out.addNodes(arranged, out.Tree.Nodes, roots, ""); err != nil {
		return nil, err
	}
	if err := out.open(arranged, out.Tree.OthersKey, ""); err != nil {
		return nil, err
	}
	if err := out.open(arranged, out.Tree.MoreKey, ""); err != nil {
		return nil, err
	}
	all, _ := arranged.Find(func(*span.Span) bool { return true }, arranged.spans)
	for _, s := range all {
		id := s.ID.String()
		out.Order = append(out.Order, id)
		if one, a := out.Spans[id], attempts.Scheduling(s); one != nil && a != nil {
			one.Scheduling = a.Attempt.Text()
		}
	}
	for _, c := range causes {
		if c.TraceID != c.OfTrace {
			out.Causes = append(out.Causes, causeOf(c))
		}
	}
	return out, nil
}

// titleOf names a trace in the title of its file.
func titleOf(sum *store.Summary) string {
	words := []string{sum.Verb, sum.Object.Kind.Kind, sum.Object.Name}
	if sum.Command != "" {
		words = []string{sum.Command}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return object.Bound(strings.Join(append(words, "· trace "+sum.ID.String()[:8]), " "))
}

// open adds the list of a key, its further pages, and all below.
func (r *recorded) open(t *arranged, key, up string) error {
	for key != "" && r.Lists[key] == nil {
		k, err := outline.ParseKey(key)
		if err != nil {
			return fmt.Errorf("cannot open the tree of the trace: %w", err)
		}
		n, err := t.Open(k)
		if err != nil {
			return fmt.Errorf("cannot open the tree of the trace: %w", err)
		}
		list := treeOf(n, t)
		r.Lists[key] = list
		if err := r.addNodes(t, list.Nodes, key, up); err != nil {
			return err
		}
		key = list.MoreKey
	}
	return nil
}

// addNodes adds nodes of a list, and all below.
func (r *recorded) addNodes(t *arranged, nodes []TreeNode, key, up string) error {
	for i := range nodes {
		n := &nodes[i]
		if n.Group != nil {
			if err := r.open(t, n.Group.Key, up); err != nil {
				return err
			}
			continue
		}
		id, err := trace.SpanIDFromHex(n.Span.SpanID)
		if err != nil {
			return fmt.Errorf("cannot read the span ID %q: %w", n.Span.SpanID, err)
		}
		r.Spans[n.Span.SpanID] = &recordedSpan{SpanDetail: *plainDetail(t, t.Span(id)), Up: up, Key: key}
		if err := r.addNodes(t, n.Children, "c"+n.Span.SpanID, n.Span.SpanID); err != nil {
			return err
		}
		for _, k := range []string{n.MoreKey, n.OthersKey} {
			if err := r.open(t, k, n.Span.SpanID); err != nil {
				return err
			}
		}
	}
	return nil
}

// bounded returns e, or an excerpt with at most that many spans beside Lifeline's and those above them. It
// also returns the number of spans that are left out.
func bounded(e *store.Excerpt, limit int) (*store.Excerpt, int) {
	t := e.Trace()
	if len(t.Spans) <= limit {
		return e, 0
	}
	byID := make(map[trace.SpanID]*span.Span, len(t.Spans))
	for _, s := range t.Spans {
		byID[s.ID] = s
	}
	kept := make(map[trace.SpanID]bool, limit)
	for _, s := range t.Spans {
		if s.Origin != nil {
			continue
		}
		for up := s; up != nil && !kept[up.ID]; up = byID[up.Parent] {
			kept[up.ID] = true
		}
	}
	for _, s := range t.Spans { // parents come first
		if len(kept) >= limit {
			break
		}
		if _, inside := byID[s.Parent]; !inside || kept[s.Parent] {
			kept[s.ID] = true
		}
	}
	out := e.Narrow(func(s *span.Span) bool { return kept[s.ID] })
	return out, len(t.Spans) - len(out.Trace().Spans)
}
