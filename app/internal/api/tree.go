// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/outline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Tree is the answer of /api/v1/traces/{traceID}/tree: the short tree of a trace, or the nodes of one
// key of it.
type Tree struct {
	// Summary is the trace, Why is how it is and why, and Path is its critical path. All are missing in the
	// answer for a key.
	Summary *Summary  `json:"summary,omitempty"`
	Why     *Why      `json:"why,omitempty"`
	Path    []Segment `json:"path,omitempty"`
	// AsOf is the time of the tree. Open spans last until then.
	AsOf time.Time `json:"asOf"`
	// Spans counts the spans of the trace.
	Spans int `json:"spans"`
	// Others counts hidden spans of other components without a span of Lifeline above, and OthersKey
	// opens them.
	Others    int    `json:"others,omitempty"`
	OthersKey string `json:"othersKey,omitempty"`
	// Nodes are the nodes without a parent in the trace, or those of the key. More counts the further
	// ones, and MoreKey opens them.
	Nodes   []TreeNode `json:"nodes"`
	More    int        `json:"more,omitempty"`
	MoreKey string     `json:"moreKey,omitempty"`
}

// TreeNode is a span, or a group of alike siblings; the fields are those of outline.Node. A key is a value
// of the parameter "expand".
type TreeNode struct {
	Span      *TreeSpan  `json:"span,omitempty"`
	Group     *TreeGroup `json:"group,omitempty"`
	Spans     int        `json:"spans"`
	Others    int        `json:"others,omitempty"`
	OthersKey string     `json:"othersKey,omitempty"`
	Children  []TreeNode `json:"children,omitempty"`
	More      int        `json:"more,omitempty"`
	MoreKey   string     `json:"moreKey,omitempty"`
}

// TreeSpan is the part of a span that a tree shows. The document of the trace has the rest.
type TreeSpan struct {
	SpanID string `json:"spanId"`
	Name   string `json:"name"`
	// Label is the name with what distinguishes the span, such as an image.
	Label   string      `json:"label"`
	Service string      `json:"service,omitempty"`
	Object  *object.Ref `json:"object,omitempty"`
	Start   time.Time   `json:"start"`
	// End is missing while the span is open.
	End *time.Time `json:"end,omitempty"`
	// StartSource and EndSource say how the times are known.
	StartSource span.TimeSource `json:"startSource,omitempty"`
	EndSource   span.TimeSource `json:"endSource,omitempty"`
	Outcome     span.Outcome    `json:"outcome,omitempty"`
	Evidence    span.Evidence   `json:"evidence,omitempty"`
	Failed      bool            `json:"failed,omitempty"`
	Message     string          `json:"message,omitempty"`
	// Other is true for a span of another component.
	Other bool `json:"other,omitempty"`
}

// TreeGroup describes siblings that are alike; the fields are those of outline.Group.
type TreeGroup struct {
	Key     string       `json:"key"`
	Label   string       `json:"label"`
	Kind    string       `json:"kind,omitempty"`
	Outcome span.Outcome `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Failed  bool         `json:"failed,omitempty"`
	Phases  []string     `json:"phases,omitempty"`
	Images  []string     `json:"images,omitempty"`
	Count   int          `json:"count"`
	Open    int          `json:"open,omitempty"`
	Start   time.Time    `json:"start"`
	End     time.Time    `json:"end"`
	// Min, P50, P90, P99 and Max are durations of members.
	Min Seconds `json:"min"`
	P50 Seconds `json:"p50"`
	P90 Seconds `json:"p90"`
	P99 Seconds `json:"p99"`
	Max Seconds `json:"max"`
	// Outliers are the members whose durations are the farthest from P50.
	Outliers []TreeSpan `json:"outliers,omitempty"`
}

// Segment is a part of the critical path, in the time of one span.
type Segment struct {
	SpanID string `json:"spanId"`
	// Group is the key of the outermost group that has the span; empty without one.
	Group string    `json:"group,omitempty"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// tree answers with the tree of a trace, or with the nodes of a key. Keys belong to the tree of the last
// request without one.
func (t *traces) tree(r *request) (any, error) {
	p := r.params
	text := p.text("expand")
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	if text == "" {
		whole, err := t.arrange(r, id)
		if err != nil {
			return nil, err
		}
		out := whole.answer()
		summary := r.broken.marked(r.access, *out.Summary)
		out.Summary = &summary
		return out, nil
	}
	key, err := outline.ParseKey(text)
	if err != nil {
		return nil, problem(http.StatusBadRequest, `parameter "expand": %.80q is no key of a tree`, text)
	}
	from, found := t.rememberedTree(r, id)
	if !found {
		if from, err = t.arrange(r, id); err != nil {
			return nil, err
		}
	}
	n, err := from.Open(key)
	if errors.Is(err, outline.ErrKey) {
		return nil, problem(
			http.StatusGone, "the trace has changed, and the key %s names nothing: ask for its tree again",
			key)
	}
	if err != nil {
		return nil, err
	}
	return treeOf(n, from), nil
}

// answer returns the tree with its summary and critical path.
func (t *arranged) answer() *Tree {
	out := treeOf(t.Outline(), t)
	out.Summary, out.Why = t.summary, t.why
	for _, part := range t.path {
		id := part.Span.ID
		out.Path = append(out.Path, Segment{id.String(), t.Group(id).String(), part.Start.UTC(), part.End.UTC()})
	}
	return out
}

func treeOf(n *outline.Node, t *arranged) *Tree {
	whole := nodeOf(n)
	out := &Tree{
		AsOf: t.asOf.UTC(), Spans: t.spans, Others: whole.Others, OthersKey: whole.OthersKey,
		Nodes: whole.Children, More: whole.More, MoreKey: whole.MoreKey,
	}
	if out.Nodes == nil {
		out.Nodes = []TreeNode{}
	}
	return out
}

func nodeOf(n *outline.Node) TreeNode {
	out := TreeNode{
		Spans: n.Spans, Others: n.Others, OthersKey: n.OthersKey.String(), More: n.More, MoreKey: n.MoreKey.String(),
	}
	if n.Span != nil {
		one := treeSpan(n.Span)
		out.Span = &one
	}
	if n.Group != nil {
		out.Group = treeGroup(n.Group)
	}
	for _, c := range n.Children {
		out.Children = append(out.Children, nodeOf(c))
	}
	return out
}

func treeSpan(s *span.Span) TreeSpan {
	out := TreeSpan{
		SpanID: s.ID.String(), Name: s.Name, Label: object.Bound(insight.Label(s)), Service: s.Service,
		Start: s.Start.UTC(), StartSource: s.Start.Source, EndSource: s.End.Source,
		Outcome: s.Outcome, Evidence: s.Evidence, Failed: s.Status == span.StatusError,
		Message: object.Bound(s.Message), Other: s.Origin != nil,
	}
	if s.Object != (object.Ref{}) {
		ref := s.Object
		out.Object = &ref
	}
	if !s.Open() {
		end := s.End.UTC()
		out.End = &end
	}
	return out
}

func treeGroup(g *outline.Group) *TreeGroup {
	out := &TreeGroup{
		Key: g.Key.String(), Label: object.Bound(g.Name), Kind: g.Kind, Outcome: g.Outcome, Reason: g.Reason,
		Failed: g.Failed, Phases: g.Phases, Images: g.Images,
		Count: g.Count, Open: g.Open, Start: g.Start.UTC(), End: g.End.UTC(),
		Min: Seconds(g.Quantiles[0]), P50: Seconds(g.Quantiles[1]), P90: Seconds(g.Quantiles[2]),
		P99: Seconds(g.Quantiles[3]), Max: Seconds(g.Quantiles[4]),
	}
	for _, s := range g.Outliers {
		out.Outliers = append(out.Outliers, treeSpan(s))
	}
	return out
}
