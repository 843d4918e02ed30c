// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// causesTime bounds the search for the causes of one list. The next request continues.
	causesTime = 50 * time.Millisecond
	// maxCauses bounds the remembered causes, and causesPage the traces of one query.
	maxCauses, causesPage = 2000, 30
)

// causes completes the causes of problems from the traces: the engine has only the ID of a forgotten change. It
// remembers finished changes. The zero value is ready.
type causes struct {
	mu    sync.Mutex
	known map[trace.TraceID]*problems.Cause
}

// complete completes the causes of a list. A cause outside the access, or an unknown one of a limited access, is
// removed. The list gets other problems: l shares its own.
func (c *causes) complete(ctx context.Context, access store.Access, l *problems.List) {
	ctx, cancel := context.WithTimeout(ctx, causesTime)
	defer cancel()
	all := access.All()
	var wanted []trace.TraceID
	seen := map[trace.TraceID]bool{}
	for i := range l.Problems {
		id, bare := traceOf(l.Problems[i].Cause)
		if !id.IsValid() || seen[id] || all && (!bare || c.get(id) != nil) {
			continue
		}
		seen[id] = true
		wanted = append(wanted, id)
	}
	if len(wanted) == 0 && !slices.ContainsFunc(l.Problems, isBare) {
		return
	}
	found := map[trace.TraceID]*problems.Cause{}
	for part := range slices.Chunk(wanted, causesPage) {
		page, err := access.List(ctx, store.Query{IDs: part, Limit: len(part)})
		if err != nil {
			break
		}
		for i := range page.Traces {
			sum := &page.Traces[i]
			found[sum.ID] = c.of(ctx, access, sum)
		}
	}
	l.Problems = slices.Clone(l.Problems)
	for i := range l.Problems {
		p := &l.Problems[i]
		id, bare := traceOf(p.Cause)
		more := found[id]
		if more == nil && all {
			more = c.get(id)
		}
		switch {
		case more == nil && !all:
			p.Cause = nil
		case more != nil && bare:
			p.Cause = more
		}
	}
}

// traceOf returns the trace of a cause, and whether the cause has no more than its ID.
func traceOf(c *problems.Cause) (id trace.TraceID, bare bool) {
	if c == nil {
		return id, false
	}
	id, err := trace.TraceIDFromHex(c.TraceID)
	return id, err == nil && c.Object == nil && c.Command == ""
}

func isBare(p problems.Problem) bool {
	_, bare := traceOf(p.Cause)
	return bare
}

func (c *causes) get(id trace.TraceID) *problems.Cause {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

// of returns the cause by the summary of its trace.
func (c *causes) of(ctx context.Context, access store.Access, sum *store.Summary) *problems.Cause {
	if known := c.get(sum.ID); known != nil {
		return known
	}
	out := &problems.Cause{
		TraceID: sum.ID.String(), Start: sum.Start.UTC(), Verb: sum.Verb, Edits: sum.Edits, Command: sum.Command,
		Who: sum.User,
	}
	if out.Who == "" {
		out.Who = sum.Actor
	}
	if sum.Object != (object.Ref{}) {
		ref := sum.Object
		out.Object = &ref
	}
	complete := true
	if out.Object != nil && sum.Verb == "update" {
		out.Fields, complete = fields(ctx, access, sum)
	}
	if complete && !sum.Open {
		c.put(sum.ID, out)
	}
	return out
}

func (c *causes) put(id trace.TraceID, of *problems.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCauses {
		c.known = map[trace.TraceID]*problems.Cause{}
	}
	c.known[id] = of
}

// fields returns the paths that the first write of a change changed, and whether they are known.
func fields(ctx context.Context, access store.Access, sum *store.Summary) ([]string, bool) {
	page, err := access.Writes(ctx, store.WriteQuery{
		TraceID: sum.ID, Object: object.Ref{UID: sum.Object.UID}, Limit: maxWrites,
	})
	if err != nil {
		return nil, false
	}
	if page.Next != "" {
		return nil, true
	}
	var out []string
	for _, w := range slices.Backward(page.Writes) { // the first one is the last
		if w.Verb != sum.Verb {
			continue
		}
		for _, change := range w.Changes {
			out = append(out, change.Path)
		}
		break
	}
	return out, true
}
