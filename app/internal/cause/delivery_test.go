// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// revision is the status of a revision.
func revision(id string, phase observation.RevisionPhase) trait {
	return func(st *state) { st.Revision = &observation.Revision{ID: id, Phase: phase} }
}

// kustomization is a Kustomization of Flux with a source, by a person.
func kustomization(source string) trait {
	return all(of("kustomize.toolkit.fluxcd.io", "Kustomization"), by("kubectl-create"), leaf("spec.path"), fresh,
		refers(object.Source, kind.SourceName("GitRepository", "default", source)))
}

// appliedByApp is an object that the Kustomization app applies.
var appliedByApp = refers(object.Applied, kind.KustomizationName("default", "app"))

// flux stores a Kustomization under way.
func flux(c *cluster) { c.store("app", kustomization("src"), pending).begins() }

// TestByDelivery: a write by a tool of delivery belongs to the revision under way. Outside it corrects a drift.
func TestByDelivery(t *testing.T) {
	applied := all(of("apps", "Deployment"), by("kustomize-controller"),
		appliedByApp)
	release := func(c *cluster) *fact {
		return c.store("sh.helm.release.v1.shop.v1", of("", "Secret"), by("helm"), revision("1", "pending"),
			pending).begins()
	}
	charted := all(of("apps", "Deployment"), by("helm"), refers(object.Applied, kind.ReleaseName("default", "shop")))
	testRule(t, byDelivery, map[string]ruleCase{
		"Applied": {"the revision is under way", func(c *cluster) {
			flux(c)
			c.store("web", applied)
		}, "below app (relation)"},
		"Another author": {"the tool did not write it", func(c *cluster) {
			flux(c)
			c.store("web", of("apps", "Deployment"), by("kubectl-edit"),
				appliedByApp)
		}, "no cause"},
		"Another revision": {"the object names another Kustomization", func(c *cluster) {
			flux(c)
			c.store("web", of("apps", "Deployment"), by("kustomize-controller"),
				refers(object.Applied, kind.KustomizationName("default", "other")))
		}, "no cause"},
		"Before the revision": {"the revision began after the write", func(c *cluster) {
			c.store("web", applied)
			c.ask()
			flux(c)
		}, "no cause"},
		"Drift": {"the revision had ended", func(c *cluster) {
			flux(c)
			c.store("app", converged).noted()
			c.wait(time.Minute)
			c.store("web", applied)
		}, "no cause ~delivery app"},
		"Failed revision": {"a failed revision has ended", func(c *cluster) {
			flux(c)
			c.store("app", failed).noted()
			c.store("web", applied)
		}, "no cause ~delivery app"},
		"Deletion": {"its author is unknown", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.gone("web")
		}, "below app (time)"},
		"Audited deletion": {"the audit log names the tool", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.audited(c.gone("web"), "system:serviceaccount:flux:kustomize-controller", "kustomize-controller/v1")
		}, "below app (relation)"},
		"Deletion by a person": {"the audit log names kubectl", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.audited(c.gone("web"), "alice", "kubectl/v1.36")
		}, "no cause"},
		"Deleted revision": {"the tool removes the objects", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.store("app", deleting).begins()
			c.gone("web")
		}, "below app (time)"},
		"Removed revision": {"the revision had ended", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.gone("app").begins()
			c.gone("web")
		}, "no cause"},
		"Removed later": {"the revision was there at the time", func(c *cluster) {
			flux(c)
			c.store("web", applied).below("app")
			c.store("app", deleting).begins()
			c.gone("web")
			c.ask()
			c.gone("app")
		}, "below app (time)"},
		"Applies itself": {"the object of the tool is no cause of its own changes", func(c *cluster) {
			c.store("app", kustomization("src"), pending, appliedByApp).begins()
			c.store("app", by("kustomize-controller"), leaf("spec.path"))
		}, "no cause"},
		"Unknown author": {"nothing names the author", func(c *cluster) {
			flux(c)
			c.store("web", of("apps", "Deployment"), appliedByApp)
		}, "no cause"},
		"Manager in the log": {"the log has the field manager of the tool", func(c *cluster) {
			flux(c)
			c.audited(c.store("web", of("apps", "Deployment"), appliedByApp),
				"system:flux", "vendor/v1", func(q *write) { q.Manager = "kustomize-controller" })
		}, "below app (relation)"},
		"Forged log": {"an unauthenticated log decides nothing", func(c *cluster) {
			flux(c)
			c.audited(c.store("web", applied), "alice", "kubectl/v1.36", func(q *write) { q.Unauthenticated = true })
		}, "below app (relation)"},
		"Helm later": {"a person with a tool undoes nothing", func(c *cluster) {
			release(c)
			c.store("sh.helm.release.v1.shop.v1", converged, revision("1", "applied")).noted()
			c.wait(time.Minute)
			c.store("web", charted)
		}, "no cause"},
		"Helm of an unknown user": {"the log has only the release", func(c *cluster) {
			c.audited(release(c), "alice", "Helm/3.0")
			c.store("web", charted)
		}, "below sh.helm.release.v1.shop.v1 (relation)"},
		"Helm of a known user": {"the log has only the write", func(c *cluster) {
			release(c)
			c.audited(c.store("web", charted), "alice", "Helm/3.0")
		}, "below sh.helm.release.v1.shop.v1 (relation)"},
		"Helm": {"the release is under way", func(c *cluster) {
			release(c)
			c.store("web", charted)
		}, "below sh.helm.release.v1.shop.v1 (relation)"},
		"Helm of another user": {"a person's tool acts as that person", func(c *cluster) {
			c.audited(release(c), "alice", "Helm/3.0")
			c.audited(c.store("web", charted), "bob", "Helm/3.0")
		}, "no cause"},
		"Helm of the same user": {"the user of the release applies", func(c *cluster) {
			c.audited(release(c), "alice", "Helm/3.0")
			c.audited(c.store("web", charted), "alice", "Helm/3.0")
		}, "below sh.helm.release.v1.shop.v1 (relation)"},
		"Hook": {"a hook does not name its release", func(c *cluster) {
			release(c)
			c.store("web", of("batch", "Job"), by("helm"), refers(object.Applied, kind.AnyRelease("default")))
		}, "below sh.helm.release.v1.shop.v1 (time)"},
		"Hook of two releases": {"two releases are possible", func(c *cluster) {
			release(c)
			c.store("sh.helm.release.v1.blog.v1", of("", "Secret"), by("helm"), revision("1", "pending"),
				pending).begins()
			c.store("web", of("batch", "Job"), by("helm"), refers(object.Applied, kind.AnyRelease("default")))
		}, "no cause"},
	})
}

// TestByPublication: a revision begins because its source has published it.
func TestByPublication(t *testing.T) {
	published := func(c *cluster, id string) {
		c.store("src", of("source.toolkit.fluxcd.io", "GitRepository"), revision("main@0", "published"))
		c.store("src", bySubresource("source-controller", "status"), revision(id, "published")).instant()
	}
	begins := func(id string) trait {
		return all(bySubresource("kustomize-controller", "status"), revision(id, "pending"))
	}
	settled := func(c *cluster) {
		flux(c)
		c.store("app", converged, revision("main@0", "applied")).noted()
		c.wait(time.Minute)
	}
	testRule(t, byPublication, map[string]ruleCase{
		"Published": {"the source had that revision", func(c *cluster) {
			settled(c)
			published(c, "main@1")
			c.store("app", begins("main@1"))
		}, "below src (relation)"},
		"Another revision": {"the source had another one", func(c *cluster) {
			settled(c)
			published(c, "main@1")
			c.store("app", begins("main@2"))
		}, "no cause"},
		"Published later": {"the source was later", func(c *cluster) {
			settled(c)
			c.store("app", begins("main@1"))
			c.ask()
			published(c, "main@1")
		}, "no cause"},
		"Another source": {"the object does not name it", func(c *cluster) {
			c.store("app", kustomization("other")).begins()
			c.store("app", converged, revision("main@0", "applied")).noted()
			c.wait(time.Minute)
			published(c, "main@1")
			c.store("app", begins("main@1"))
		}, "no cause"},
		"No revision": {"the write begins none", func(c *cluster) {
			settled(c)
			published(c, "main@1")
			c.store("app", by("kubectl-edit"), leaf("spec.path"))
		}, "no cause"},
		"Next revision": {"the open change has begun a revision", func(c *cluster) {
			settled(c)
			published(c, "main@1")
			c.store("app", begins("main@1"), func(st *state) { st.Progress = "InProgress" }).begins()
			c.store("src", bySubresource("source-controller", "status"), revision("main@2", "published")).instant()
			c.store("app", begins("main@2"))
		}, "below src (relation)"},
		"Own change": {"an open change of the object is nearer", func(c *cluster) {
			published(c, "main@1")
			flux(c)
			c.store("app", revision("main@0", "applied")).noted()
			c.store("app", begins("main@1"))
		}, "no cause ~revision src"},
	})
}

// TestDrift: the object of the tool that undoes the change of another author.
func TestDrift(t *testing.T) {
	applied := all(of("apps", "Deployment"), by("kustomize-controller"),
		appliedByApp)
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		want   string
	}{
		"Ended": {"no revision is under way", func(c *cluster) {
			flux(c)
			c.store("app", converged).noted()
			c.wait(time.Minute)
			c.store("web", applied)
		}, "app"},
		"Under way": {"the revision applies the object", func(c *cluster) {
			flux(c)
			c.store("web", applied)
		}, ""},
		"Deletion": {"a deletion undoes nothing", func(c *cluster) {
			flux(c)
			c.store("app", converged).noted()
			c.store("web", applied).begins()
			c.wait(time.Minute)
			c.gone("web")
		}, ""},
		"Another author": {"the tool did not write it", func(c *cluster) {
			flux(c)
			c.store("app", converged).noted()
			c.wait(time.Minute)
			c.store("web", of("apps", "Deployment"), by("kubectl-edit"),
				appliedByApp)
		}, ""},
		"No tool": {"nothing applies the object", func(c *cluster) {
			c.store("web", of("apps", "Deployment"), by("kustomize-controller"))
		}, ""},
		"Unknown": {"the object of the tool is not observed", func(c *cluster) {
			c.store("web", applied)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			got := ""
			w := c.set()
			if by := Drift(c.scene, w); by != nil {
				got = by.Ref.Name
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
