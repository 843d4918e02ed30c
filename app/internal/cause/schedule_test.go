// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// TestByOwnerSchedule: each Job of a CronJob is a separate change.
func TestByOwnerSchedule(t *testing.T) {
	nightly := func(c *cluster) {
		c.store("nightly", of("batch", "CronJob"), by("kubectl-create"), converged).begins()
		c.wait(time.Minute)
	}
	run := all(of("batch", "Job"), by(change.Manager), wants(1), fresh, owned("batch", "CronJob", "nightly"))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Run": {"it has a link to the schedule", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run)
		}, "new trace ~owner nightly"},
		"Unknown schedule": {"its last change is unknown", func(c *cluster) {
			c.found("nightly", of("batch", "CronJob"), by("kubectl-create"), converged)
			c.store("nightly-1", run)
		}, "new trace"},
		"Old run": {"its removal belongs to the newest one", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.gone("nightly-1")
		}, "below nightly-2 (time)"},
		"Running": {"the controller removes only runs that have ended", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, pending).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.gone("nightly-1")
		}, "no cause"},
		"Old run of several": {"its removal belongs to the newest one", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.store("nightly-3", run).begins()
			c.gone("nightly-1")
		}, "below nightly-3 (time)"},
		"Old run after a removed one": {"the newest one is gone", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.store("nightly-3", run).begins()
			c.gone("nightly-3")
			c.gone("nightly-1")
		}, "below nightly-2 (time)"},
		"Old run much later": {"the trace of the newest one has ended", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly-1")
		}, "no cause"},
		"Old run after a deletion": {"the newest one is on its way out", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.store("nightly-2", run).begins()
			c.store("nightly-2", deleting).begins()
			c.gone("nightly-1")
		}, "no cause"},
		"Newest run": {"no newer one is open", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly-1")
		}, "no cause"},
		"Deleted schedule": {"the removal of the schedule is the cause", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly").begins()
			c.gone("nightly-1")
		}, "below nightly (owner)"},
	})
}
