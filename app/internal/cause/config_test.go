// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// settings stores a Deployment with a ConfigMap, and a change of its content.
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
