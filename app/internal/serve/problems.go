// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// problems holds the problems of the last look, for readers that cannot wait for the loop. The zero value is empty.
// It is safe for concurrent use.
type problems struct{ list atomic.Pointer[problem.List] }

// Now returns the problems of the last look. The caller must not change them.
func (p *problems) Now() problem.List {
	if l := p.list.Load(); l != nil {
		return *l
	}
	return problem.List{Problems: []problem.Problem{}}
}

// publish replaces the problems. They must not change afterwards.
func (p *problems) publish(l problem.List) { p.list.Store(&l) }
