// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"testing"
)

// refusedPods stores a ReplicaSet with Pods that a quota refused, and the raise of that quota.
func refusedPods(c *cluster) {
	c.store("small", of("", "ResourceQuota"), by("kubectl-create"), leaf("spec.hard[pods]"), fresh).begins()
	web(c)
	c.store("web-1", condition("ReplicaFailure", "True", "FailedCreate", refusal("small"))).noted()
	c.store("small", by("kubectl-edit"), leaf("spec.hard[pods]")).begins()
}

// refusal is the message of the API server about a quota.
func refusal(quota string) string {
	return fmt.Sprintf(`pods "web-1-a" is forbidden: exceeded quota: %s, requested: pods=1, used: pods=1`, quota)
}

// limitRefusal is the message of the API server about a LimitRange.
const limitRefusal = `pods "web-1-a" is forbidden: maximum cpu usage per Container is 1, but limit is 2`

// moreLimits stores n LimitRanges.
func moreLimits(c *cluster, n int) {
	for i := range n {
		c.store(fmt.Sprint("more-", i), of("", "LimitRange"), by("kubectl-create"), leaf("spec.limits")).instant()
	}
}

// TestByRefusal: a created object has a link to the change of the quota or the LimitRange that had refused it.
func TestByRefusal(t *testing.T) {
	made := podOf("apps", "ReplicaSet", "web-1")
	limits := func(c *cluster) {
		c.store("limits", of("", "LimitRange"), by("kubectl-create"), leaf("spec.limits")).instant()
		web(c)
		c.event("replicaset-controller", "web-1", "FailedCreate", limitRefusal, "")
	}
	testRule(t, byRefusal, map[string]ruleCase{
		"Raised quota": {"the raise allows the object", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", made)
		}, "no cause ~quota small"},
		"Deleted quota": {"so does the deletion", func(c *cluster) {
			refusedPods(c)
			c.store("small", deleting).begins()
			c.store("web-1-a", made)
		}, "no cause ~quota small"},
		"Next batch": {"the owner's status came between two creations", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", made).below("web-1")
			c.store("web-1", leaf("metadata.annotations[x]")).noted()
			c.store("web-1-b", made)
		}, "no cause"},
		"Same batch": {"several objects are created at once", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", made).below("web-1")
			c.store("web-1-b", made)
		}, "no cause ~quota small"},
		"Refused after": {"the quota was changed before the refusal", func(c *cluster) {
			c.store("small", of("", "ResourceQuota"), by("kubectl-create"), leaf("spec.hard[pods]"), fresh).begins()
			c.store("small", by("kubectl-edit"), leaf("spec.hard[pods]")).begins()
			web(c)
			c.store("web-1", condition("ReplicaFailure", "True", "FailedCreate", refusal("small"))).noted()
			c.store("web-1-a", made)
		}, "no cause"},
		"Another quota": {"it refused nothing", func(c *cluster) {
			c.store("small", of("", "ResourceQuota"), by("kubectl-create"), leaf("spec.hard[pods]"), fresh).begins()
			web(c)
			c.store("web-1", condition("ReplicaFailure", "True", "FailedCreate", refusal("large"))).noted()
			c.store("small", by("kubectl-edit"), leaf("spec.hard[pods]")).begins()
			c.store("web-1-a", made)
		}, "no cause"},
		"Labelled quota": {"only labels of the quota changed", func(c *cluster) {
			c.store("small", of("", "ResourceQuota"), by("kubectl-create"), leaf("spec.hard[pods]"), fresh).begins()
			web(c)
			c.store("web-1", condition("ReplicaFailure", "True", "FailedCreate", refusal("small"))).noted()
			c.store("small", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
			c.store("web-1-a", made)
		}, "no cause"},
		"LimitRange": {"an Event has its refusal", func(c *cluster) {
			limits(c)
			c.store("limits", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.store("web-1-a", made)
		}, "no cause ~limit-range limits"},
		"Deleted LimitRange": {"its deletion allows the object", func(c *cluster) {
			limits(c)
			c.gone("limits").instant()
			c.store("web-1-a", made)
		}, "no cause ~limit-range limits"},
		"Refusal after the LimitRange": {"the change came before the refusal", func(c *cluster) {
			c.store("limits", of("", "LimitRange"), by("kubectl-create"), leaf("spec.limits")).instant()
			web(c)
			c.store("limits", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.event("replicaset-controller", "web-1", "FailedCreate", limitRefusal, "")
			c.store("web-1-a", made)
		}, "no cause"},
		"Many LimitRanges": {"any of them may have refused it, and there are too many", func(c *cluster) {
			moreLimits(c, maxLimitRanges)
			limits(c)
			c.store("limits", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.store("web-1-a", made)
		}, "no cause"},
		"Several LimitRanges": {"each changed one has a link", func(c *cluster) {
			moreLimits(c, maxLimitRanges-1)
			limits(c)
			c.store("more-0", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.store("limits", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.store("web-1-a", made)
		}, "no cause ~limit-range limits ~limit-range more-0"},
		"New quota": {"a creation allows nothing", func(c *cluster) {
			web(c)
			c.store("web-1", condition("ReplicaFailure", "True", "FailedCreate", refusal("small"))).noted()
			c.store("small", of("", "ResourceQuota"), by("kubectl-create"), leaf("spec.hard[pods]"), fresh).begins()
			c.store("web-1-a", made)
		}, "no cause"},
		"Labelled LimitRange": {"only its labels changed", func(c *cluster) {
			limits(c)
			c.store("limits", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
			c.store("web-1-a", made)
		}, "no cause"},
		"Refused and created": {"a dependant was created after the Event", func(c *cluster) {
			limits(c)
			c.store("web-1-z", made).below("web-1")
			c.store("limits", by("kubectl-edit"), leaf("spec.limits")).instant()
			c.store("web-1-a", made)
		}, "no cause"},
		"An update": {"only a creation was refused", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", made).below("web-1")
			c.store("web-1-a", by(theManager), leaf("spec.x"))
		}, "no cause"},
	})
}
