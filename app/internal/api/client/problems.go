// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"strconv"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// ProblemQuery selects the objects of problems. A zero field selects all.
type ProblemQuery struct {
	// Object is what an object must have; its version does not count.
	Object object.Ref
	// Limit bounds the problems; 0 means the server's default.
	Limit int
}

// Problems returns the problems now, the worst first. Their texts are not escaped.
func (c *Client) Problems(ctx context.Context, q ProblemQuery) (*problem.List, error) {
	v := objectValues(q.Object)
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	out := &problem.List{}
	return out, c.json(ctx, "problems", v, out)
}
