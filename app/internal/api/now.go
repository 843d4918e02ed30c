// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The values of Now.State.
const (
	Still = "still"
	Since = "since"
)

// mark adds the present states to the rows of a list, the newest first.
func (b *broken) mark(access store.Access, rows []Summary) {
	now := b.from.Now()
	if len(now.Problems) == 0 {
		return
	}
	exists := existing(access, b.cluster)
	seen := map[types.UID]bool{}
	for i := range rows {
		row := &rows[i]
		var uid types.UID
		if row.Object != nil && row.Object.UID != "" {
			uid = row.Object.UID
			if seen[uid] {
				continue
			}
			seen[uid] = true
		}
		if row.Open || row.Outcome == span.Superseded || row.Outcome == span.Deleted {
			continue
		}
		row.Now = nowOf(now.Present(uid, row.TraceID, exists), row)
	}
}

// marked returns the summary with the present state.
func (b *broken) marked(access store.Access, s Summary) Summary {
	row := []Summary{s}
	b.mark(access, row)
	return row[0]
}

// nowOf returns the present state after a change; nil without a problem.
func nowOf(p *problems.Problem, row *Summary) *Now {
	if p == nil {
		return nil
	}
	end := row.Start.Add(time.Duration(row.Duration))
	if row.Outcome == span.Converged {
		end = end.Truncate(time.Second).Add(-1) // most beginnings are whole seconds
	}
	out := &Now{
		State: Since, Problem: p.ID, Category: p.Category, Reason: p.Reason, Since: p.Since.UTC(), Before: p.Before,
		Object: p.Object,
	}
	if p.Before || !p.Since.After(end) {
		out.State = Still
	}
	return out
}
