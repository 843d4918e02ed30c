// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/ending"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/placing"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// derivation holds all conclusions from one group of observations. It is a pure function of the group's
// timelines, of the memory and of the time.
type derivation struct {
	trail    *trail.Trail
	known    index.View
	clock    *ending.Clock
	placed   *placed.Changes
	scene    *cause.Scene
	placing  *placing.Placing
	endings  *ending.Endings
	refusals *ending.Refusals
	fights   *tree.Fights
	spans    *tree.Builder
	settling *settling
	group    *group
}

// derive draws the conclusions. Each step reads the results of the ones before.
func derive(e *Engine, g *group, now time.Time) *derivation {
	known := e.index.View()
	changes := placed.New(known, e.opts, e.memory.taken, len(g.members))
	for id := range g.runs {
		if r := e.index.Runs()[id]; r != nil {
			changes.Lines[id] = &change.Lineage{ID: id, Run: r, Latest: history.Later(r.Start, r.End)}
		}
	}
	scene := cause.NewScene(known, changes, e.trail, e.opts, maps.Keys(g.members))
	places := placing.New(scene, e.opts, g.members, e.memory.series)
	places.Run(len(g.runs) > 0)

	clock := ending.NewClock(now)
	reasons := ending.NewReasons(known, clock)
	endings := ending.New(known, e.trail, clock, reasons, e.opts)
	refusals := ending.NewRefusals(scene, endings, e.opts.Cluster)
	refusals.Place(g.refusals, g.members)
	endings.ConcludeAll(changes.Lines)
	refusals.Order()
	changes.Order()

	fights := tree.NewFights(scene, e.memory.contests)
	return &derivation{
		trail: e.trail, known: known, clock: clock, placed: changes, scene: scene, placing: places, endings: endings,
		refusals: refusals, fights: fights, group: g,
		spans: tree.New(&tree.Sources{
			Scene: scene, Endings: endings, Reasons: reasons, Fights: fights, Published: e.endpoints.published,
			Kept: &g.kept,
		}),
		settling: &settling{scene: scene, opts: e.opts},
	}
}
