// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// maxRunning is the number of running changes that are counted.
const maxRunning = 200

// served finds the problems of a server.
func (p *Problems) served(ctx context.Context, server *cli.Session) (*broken, error) {
	out := &broken{watched: seenSince(server.About)}
	if p.Selector != "" {
		uids, err := p.selected(ctx)
		if err != nil {
			return nil, err
		}
		out.List, err = problemsOf(ctx, server.Client, p.Namespace, uids)
		if err != nil {
			return nil, err
		}
	} else {
		list, err := listProblems(ctx, server.Client, object.Ref{Namespace: p.Namespace})
		if err != nil {
			return nil, err
		}
		out.List = *list
	}
	if p.Namespace != "" && p.Selector == "" {
		all, err := server.Problems(ctx, client.ProblemQuery{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("cannot count the problems of all namespaces: %w", err)
		}
		out.elsewhere = max(0, len(all.Problems)+all.More-len(out.Problems)-out.More)
	}
	if p.Output != cli.OutputName {
		out.last = lastChanges(ctx, server.Client, out.Problems, p.Beside(maxLast*besidePatience/10))
	}
	running, err := collect(ctx, server.Client, client.Query{
		Open: true, Object: object.Ref{Namespace: p.Namespace},
	}, maxRunning)
	if err == nil { // an answer without the number is complete enough
		out.running, out.some = len(running.Traces), running.more
	}
	return out, nil
}

const (
	// maxLast is the number of problems whose last change is asked for, and lastAmong that of the traces of an object
	// that are searched for it.
	maxLast, lastAmong = 50, 10
)

// lastChanges returns the last changes of the first objects of problems without a cause. Without an answer of the
// server in that time, there is none.
func lastChanges(
	ctx context.Context, c *client.Client, problems []problem.Problem, patience time.Duration,
) map[string]*problem.Cause {
	out, asked := map[string]*problem.Cause{}, 0
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i := range problems {
		of := &problems[i]
		if of.Cause != nil || of.Object.UID == "" {
			continue
		}
		if asked++; asked > maxLast {
			break
		}
		page, err := c.List(ctx, client.Query{Object: object.Ref{UID: of.Object.UID}, Limit: lastAmong})
		if err != nil {
			break
		}
		for k := range page.Traces {
			s := &page.Traces[k]
			if s.Command == "" && (s.Object == nil || s.Object.UID != of.Object.UID) {
				continue
			}
			out[of.ID] = &problem.Cause{
				TraceID: s.TraceID, Start: s.Start, Who: cmp.Or(s.User, s.Actor), Object: s.Object, Verb: s.Verb,
				Edits: s.Edits, Command: s.Command,
			}
			break
		}
	}
	return out
}

// problemsOf returns the problems of the objects, the worst first.
func problemsOf(ctx context.Context, c *client.Client, namespace string, uids []types.UID) (problem.List, error) {
	all, err := listProblems(ctx, c, object.Ref{Namespace: namespace})
	if err != nil {
		return problem.List{}, err
	}
	order := map[string][]object.Ref{}
	for i := range all.Problems {
		order[all.Problems[i].ID] = all.Problems[i].Objects
	}
	of := map[string]*problem.Problem{}
	for _, uid := range uids {
		some, err := listProblems(ctx, c, object.Ref{UID: uid})
		if err != nil {
			return problem.List{}, err
		}
		for i := range some.Problems {
			add(of, &some.Problems[i], order[some.Problems[i].ID])
		}
	}
	out := *all
	out.Problems, out.More = []problem.Problem{}, 0
	for i := range all.Problems {
		if p := of[all.Problems[i].ID]; p != nil {
			out.Problems = append(out.Problems, *p)
		}
	}
	return out, nil
}

// add adds the objects of p to those of its problem. The problem is that of the first object in an order, or else that
// of the oldest.
func add(to map[string]*problem.Problem, p *problem.Problem, order []object.Ref) {
	old := to[p.ID]
	if old == nil {
		to[p.ID] = p
		return
	}
	place := func(of *problem.Problem) int {
		if i := slices.Index(order, of.Object); i >= 0 {
			return i
		}
		return len(order)
	}
	if cmp.Or(cmp.Compare(place(p), place(old)), p.Since.Compare(old.Since)) < 0 {
		old, p = p, old
	}
	old.Count += p.Count
	old.Objects = append(old.Objects, p.Objects...)
	old.Objects = old.Objects[:min(len(old.Objects), problem.MaxObjects)]
	old.Namespaces = slices.Compact(slices.Sorted(slices.Values(append(old.Namespaces, p.Namespaces...))))
	to[old.ID] = old
}

// listProblems returns all problems with such an object.
func listProblems(ctx context.Context, c *client.Client, of object.Ref) (*problem.List, error) {
	list, err := c.Problems(ctx, client.ProblemQuery{Object: of, Limit: problem.MaxProblems})
	if err != nil {
		return nil, fmt.Errorf("cannot list the problems: %w", err)
	}
	return list, nil
}
