// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// theManager is the field manager of the controllers of kube-controller-manager.
const theManager = change.Manager

// autoscaled stores Deployment web after its convergence, and its autoscaler under way.
func autoscaled(c *cluster) {
	settledWeb(c)
	c.store("scaler", autoscaler("Deployment", "web")).begins()
}

// autoscaler is an autoscaler of a workload, by a person.
func autoscaler(kind, target string) trait {
	return all(of("autoscaling", "HorizontalPodAutoscaler"), by("kubectl-create"), leaf("spec.maxReplicas"), fresh,
		refers(object.Target, nameOf("apps", kind, target)))
}

// active is the status of an autoscaler after its first look.
func active(st *state) {
	st.ObservedGeneration = st.Generation
	condition("ScalingActive", "True", "", "")(st)
}

// TestByAutoscaler: a scaling belongs to the open change of the autoscaler, and else has a link to it.
func TestByAutoscaler(t *testing.T) {
	scaled := all(by(theManager), wants(3))
	testRule(t, byRelation, map[string]ruleCase{
		"Open": {"the autoscaler has not converged", func(c *cluster) {
			autoscaled(c)
			c.store("web", scaled)
		}, "below scaler (relation)"},
		"Converged": {"a metric is the cause", func(c *cluster) {
			autoscaled(c)
			c.store("scaler", active).noted()
			c.wait(time.Minute)
			c.store("web", scaled)
		}, "no cause ~autoscaler scaler"},
		"By a person": {"the autoscaler did not scale", func(c *cluster) {
			autoscaled(c)
			c.store("web", by("kubectl-scale"), wants(3))
		}, "no cause"},
		"Another field": {"an autoscaler changes only the number", func(c *cluster) {
			autoscaled(c)
			c.store("web", by(theManager), leaf(fieldImage), wants(3))
		}, "no cause"},
		"Another target": {"it scales another object", func(c *cluster) {
			settledWeb(c)
			c.store("scaler", autoscaler("Deployment", "shop")).begins()
			c.store("web", scaled)
		}, "no cause"},
		"Removed": {"the autoscaler was gone", func(c *cluster) {
			autoscaled(c)
			c.gone("scaler")
			c.store("web", scaled)
		}, "no cause"},
		"In deletion": {"the deletion of an autoscaler scales nothing", func(c *cluster) {
			autoscaled(c)
			c.store("scaler", deleting).begins()
			c.store("web", scaled)
		}, "no cause"},
		"Removed later": {"the autoscaler was there at the time", func(c *cluster) {
			autoscaled(c)
			c.store("web", scaled)
			c.ask()
			c.gone("scaler")
		}, "below scaler (relation)"},
		"From before the start": {"its last change is unknown", func(c *cluster) {
			settledWeb(c)
			c.found("scaler", autoscaler("Deployment", "web"), active)
			c.store("web", scaled)
		}, "no cause"},
		"Quiet time": {"only the quiet time keeps the autoscaler open", func(c *cluster) {
			settledWeb(c)
			c.store("scaler", autoscaler("Deployment", "web"), condition("ScalingActive", "True", "", "")).begins()
			c.store("web", scaled)
		}, "below scaler (time)"},
		"Another relation": {"the workload is not its target", func(c *cluster) {
			settledWeb(c)
			c.store("scaler", of("autoscaling", "HorizontalPodAutoscaler"), by("kubectl-create"),
				refers(object.Config, nameOf("apps", "Deployment", "web"))).begins()
			c.store("web", scaled)
		}, "no cause"},
		"Another kind": {"it is no autoscaler of Kubernetes", func(c *cluster) {
			settledWeb(c)
			c.store("scaler", of("example.com", "Scaler"), by("kubectl-create"),
				refers(object.Target, nameOf("apps", "Deployment", "web"))).begins()
			c.store("web", scaled)
		}, "no cause"},
		"Owned": {"the controller of the owner scales its ReplicaSet", func(c *cluster) {
			settledWeb(c)
			c.store("scaler", autoscaler("ReplicaSet", "web-1")).begins()
			c.store("web-1", by(theManager), wants(3))
		}, "no cause"},
		"Audited": {"the audit log names the autoscaler", func(c *cluster) {
			autoscaled(c)
			c.audited(c.store("web", scaled), ControllerAccounts+"horizontal-pod-autoscaler", managerAgent)
		}, "below scaler (relation)"},
		"Audited person": {"the audit log names another user", func(c *cluster) {
			autoscaled(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36")
		}, "no cause"},
	})
}

// TestDecision: the metrics of a scaling are those of the status after it. Without such a status, those before count.
func TestDecision(t *testing.T) {
	looked := func(at time.Duration, metrics string) trait {
		return func(st *state) {
			st.Autoscaler = &observation.Autoscaler{Metrics: metrics}
			if at != 0 {
				st.Autoscaler.Scaled = epoch.Add(at)
			}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		after  func(*cluster)
		want   string
	}{
		"After": {"the status has a new time of scaling", func(c *cluster) {
			c.store("scaler", looked(time.Minute, "cpu 90% of 50%"))
		}, "cpu 90% of 50%"},
		"Same time": {"the status is not about a scaling", func(c *cluster) {
			c.store("scaler", looked(0, "cpu 70% of 50%"))
		}, "cpu 60% of 50%"},
		"Time of an earlier scaling": {"the status has the same time as before", func(c *cluster) {
			c.store("scaler", looked(-time.Minute, "cpu 70% of 50%"))
		}, "cpu 60% of 50%"},
		"Next scaling": {"the status is about a later scaling", func(c *cluster) {
			c.store("web", by(theManager), wants(5))
			c.store("scaler", looked(time.Minute, "cpu 90% of 50%"))
		}, "cpu 60% of 50%"},
		"Label between": {"the number is the same", func(c *cluster) {
			c.store("web", by("kubectl-label"), leaf("metadata.labels[x]"))
			c.store("scaler", looked(time.Minute, "cpu 90% of 50%"))
		}, "cpu 90% of 50%"},
		"Two looks": {"the first status with the time counts", func(c *cluster) {
			c.store("scaler", looked(time.Minute, "cpu 90% of 50%"))
			c.store("scaler", looked(time.Minute, "cpu 40% of 50%"))
		}, "cpu 90% of 50%"},
		"Nothing": {"the status before counts", func(*cluster) {}, "cpu 60% of 50%"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			autoscaled(c)
			c.store("scaler", active, looked(-time.Minute, "cpu 60% of 50%")).noted()
			c.store("web", by(theManager), wants(3))
			c.ask()
			tc.after(c)
			w := c.set()
			if got := Decision(Autoscaler(c.scene, w), w); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
