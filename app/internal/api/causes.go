// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
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
	// partsTime is that time for a limited access, whose causes are not remembered.
	partsTime = 500 * time.Millisecond
	// lateUser is the time after which no audit event has the user of a finished change.
	lateUser = time.Minute
	// maxCauses bounds the remembered causes, and causesPage the traces of one query.
	maxCauses, causesPage = 2000, 30
)

// causes completes the causes of problems from the traces: the engine has only the ID of a forgotten change, and may
// lack the user of a late audit event. It remembers finished changes. The zero value is ready.
type causes struct {
	mu    sync.Mutex
	known map[trace.TraceID]*traced
}

// traced is a cause by its trace.
type traced struct {
	*problems.Cause

	// user means that Who is a user.
	user bool
}

// complete completes the causes of a list. A limited access gets those that the visible parts of their traces show, and
// no others. The list gets other problems: l shares its own.
func (c *causes) complete(ctx context.Context, access store.Access, l *problems.List) {
	all, limit := access.All(), causesTime
	if !all {
		limit = partsTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var wanted []trace.TraceID
	seen := map[trace.TraceID]bool{}
	for i := range l.Problems {
		id := traceOf(l.Problems[i].Cause)
		if !id.IsValid() || seen[id] || all && c.get(id) != nil {
			continue
		}
		seen[id] = true
		wanted = append(wanted, id)
	}
	found := map[trace.TraceID]*traced{}
	for part := range slices.Chunk(wanted, causesPage) {
		page, err := access.List(ctx, store.Query{IDs: part, Limit: len(part)})
		if err != nil {
			break
		}
		for i := range page.Traces {
			sum := &page.Traces[i]
			found[sum.ID] = c.of(ctx, access, sum, l.AsOf)
		}
	}
	l.Problems = slices.Clone(l.Problems)
	for i := range l.Problems {
		p := &l.Problems[i]
		if p.Cause == nil {
			continue
		}
		id := traceOf(p.Cause)
		more := found[id]
		if more == nil && all {
			more = c.get(id)
		}
		switch {
		case !all && more == nil:
			p.Cause = nil
		case !all:
			p.Cause = more.Cause
		case more == nil:
		case p.Cause.Object == nil && p.Cause.Command == "":
			p.Cause = more.Cause
		case more.user && p.Cause.Who != more.Who:
			of := *p.Cause
			of.Who = more.Who
			p.Cause = &of
		}
	}
}

// traceOf returns the trace of a cause; zero without one.
func traceOf(c *problems.Cause) (id trace.TraceID) {
	if c != nil {
		id, _ = trace.TraceIDFromHex(c.TraceID) // the zero ID if it is none
	}
	return id
}

func (c *causes) get(id trace.TraceID) *traced {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

// of returns the cause by the summary of its trace at the time now.
func (c *causes) of(ctx context.Context, access store.Access, sum *store.Summary, now time.Time) *traced {
	if known := c.get(sum.ID); known != nil && access.All() {
		return known
	}
	out := &traced{user: sum.User != "", Cause: &problems.Cause{
		TraceID: sum.ID.String(), Start: sum.Start.UTC(), Verb: sum.Verb, Edits: sum.Edits, Command: sum.Command,
		Who: cmp.Or(sum.User, sum.Actor),
	}}
	if sum.Object != (object.Ref{}) {
		ref := sum.Object
		out.Object = &ref
	}
	complete := true
	if out.Object != nil && sum.Verb == "update" {
		out.Fields, complete = fields(ctx, access, sum)
	}
	if access.All() && complete && !sum.Open && (out.user || now.Sub(sum.AsOf) > lateUser) {
		c.put(sum.ID, out)
	}
	return out
}

func (c *causes) put(id trace.TraceID, of *traced) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCauses {
		c.known = map[trace.TraceID]*traced{}
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
