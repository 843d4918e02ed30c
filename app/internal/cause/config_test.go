// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// settings tells of a Deployment that reads a ConfigMap, and of a change of its content.
func settings(c *cluster) {
	data := all(by("kubectl-edit"), leaf(observation.PathData))
	c.store("settings", of("", "ConfigMap"), data)
	c.store("web", deployment(1), refers(object.Config, nameOf("", "ConfigMap", "settings"))).begins()
	c.store("settings", data).instant()
}

// restart changes an annotation of the template.
var restart = all(by("kubectl-rollout"), leaf(fieldRestart))

// TestByConfig: a restart has links to the changed content of its template. It never has a cause by them.
func TestByConfig(t *testing.T) {
	testRule(t, byConfig, map[string]ruleCase{
		"Restart": {"the content was changed since the creation", func(c *cluster) {
			settings(c)
			c.store("web", restart)
		}, "no cause ~config settings"},
		"Reloader": {"a variable has the digest of the content", func(c *cluster) {
			settings(c)
			c.store("web", by("reloader"), leaf("spec.template.spec.containers[name=app].env[name=STAKATER_X].value"))
		}, "no cause ~config settings"},
		"Image": {"a new image is no restart", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage))
		}, "no cause"},
		"Restart with an image": {"the image may be the reason", func(c *cluster) {
			settings(c)
			c.store("web", restart, leaf(fieldImage))
		}, "no cause"},
		"Taken in before": {"the template was changed after the content", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("web", restart)
		}, "no cause"},
		"Scaled before": {"a scaling takes in no content", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-scale"), wants(2)).begins()
			c.store("web", restart)
		}, "no cause ~config settings"},
		"Edited after": {"a later change of the content is no reason", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("web", restart)
			c.ask()
			c.store("settings", by("kubectl-edit"), leaf(observation.PathData)).instant()
		}, "no cause"},
		"Labelled": {"a label is no content", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("settings", by("kubectl-label"), leaf("metadata.labels[tier]")).instant()
			c.store("web", restart)
		}, "no cause"},
		"Unread": {"the template does not read it", func(c *cluster) {
			c.store("web", deployment(1)).begins()
			c.store("settings", of("", "ConfigMap"), by("kubectl-edit"), leaf(observation.PathData))
			c.store("settings", by("kubectl-edit"), leaf(observation.PathData)).instant()
			c.store("web", restart)
		}, "no cause"},
		"Another relation": {"the template does not read it", func(c *cluster) {
			c.store("settings", of("", "ConfigMap"), by("kubectl-edit"), leaf(observation.PathData))
			c.store("web", deployment(1), refers(object.Backend, nameOf("", "ConfigMap", "settings"))).begins()
			c.store("settings", by("kubectl-edit"), leaf(observation.PathData)).instant()
			c.store("web", restart)
		}, "no cause"},
		"Two changes": {"the last change counts", func(c *cluster) {
			settings(c)
			c.store("settings", by("kubectl-edit"), leaf(observation.PathData)).instant()
			c.store("web", restart)
		}, "no cause ~config settings"},
	})
}

// TestSources: the objects outside its trace that a span of a write refers to.
func TestSources(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		want   []string
	}{
		"Restart": {"the content of the template", func(c *cluster) {
			settings(c)
			c.store("web", restart)
		}, []string{"settings"}},
		"Image": {"no restart", func(c *cluster) {
			settings(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage))
		}, nil},
		"Applied": {"the object of the tool", func(c *cluster) {
			flux(c)
			c.store("web", of("apps", "Deployment"), appliedByApp)
		}, []string{"app"}},
		"Refused": {"the quota that had refused the object", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"))
		}, []string{"small"}},
		"Scaling": {"the autoscaler alone", func(c *cluster) {
			autoscaled(c)
			c.store("web", by(theManager), wants(3))
		}, []string{"scaler"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			w := c.set()
			var got []string
			for _, source := range Sources(c.scene, w) {
				got = append(got, c.names[source.Ref.UID])
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// refusedPods tells of a ReplicaSet whose Pods a quota refused, and of the raise of that quota.
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

// moreLimits tells of n LimitRanges.
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

// TestByRequest: a request of a command belongs to the trace of the command.
func TestByRequest(t *testing.T) {
	testRule(t, plain(byRequest), map[string]ruleCase{
		"Command": {"the command made the request", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1)), traceA)
		}, "below span ff of trace aaaa (request)"},
		"Unknown command": {"the context is that of another trace", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1)), traceB)
		}, "no cause"},
		"No request": {"nothing shows the request", func(c *cluster) {
			c.run(traceA)
			c.store("web", deployment(1))
		}, "no cause"},
		"New context": {"the context on the object is a link", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), carrying(traceB, 1)), traceA)
		}, "below span ff of trace aaaa (request) ~annotation bbbb"},
		"Context of the command": {"it needs no link to itself", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), carrying(traceA, 1)), traceA)
		}, "below span ff of trace aaaa (request)"},
		"Admitted": {"admission gave the span", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), admitted(traceA, 1, lifeline.BasisRequest)), traceA)
		}, "below span ff of trace aaaa (request) as admitted"},
		"Admitted elsewhere": {"admission gave a span in another trace", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), admitted(traceB, 1, lifeline.BasisRequest)), traceA)
		}, "below span ff of trace aaaa (request) ~annotation bbbb"},
		"Old context": {"it was there before", func(c *cluster) {
			c.run(traceA)
			c.store("web", deployment(1), carrying(traceB, 1)).in(traceB).begins()
			c.wait(time.Second)
			c.requested(c.store("web", by("kubectl-edit"), leaf(fieldImage)), traceA)
		}, "below span ff of trace aaaa (request)"},
	})
}
