// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// aWorkload is an object of Kueue, and kueueUser is the user of Kueue.
var aWorkload = of("kueue.x-k8s.io", "Workload")

const kueueUser = "system:serviceaccount:kueue:kueue"

// TestByItself: the own controller of an object completes it during its open change.
func TestByItself(t *testing.T) {
	under := pending
	completes := all(by("head-controller"), leaf("spec.port"))
	status := bySubresource("head-controller", "status")
	testRule(t, plain(byItself), map[string]ruleCase{
		"Own controller": {"the author also writes the status", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", completes)
			c.ask()
			c.store("head", status)
		}, "trace of head"},
		"Remote parent": {"the place is that of the open change", func(c *cluster) {
			c.store("head", custom("Head"), under).begins().in(traceA)
			c.store("head", completes, status)
		}, "below span 1 of trace aaaa outside (annotation)"},
		"No status": {"the author never writes the status", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", completes)
		}, "no cause"},
		"Earlier status": {"an earlier status proves nothing", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", status).noted()
			c.store("head", func(st *state) { st.Managers = st.Managers[:1] }).noted()
			c.store("head", completes)
		}, "no cause"},
		"Status of another": {"another controller writes the status", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", completes, bySubresource("other", "status"))
		}, "no cause"},
		"Earlier scale": {"the author scales nothing with this write", func(c *cluster) {
			c.store("web", deployment(1)).begins()
			c.store("web", bySubresource("head-controller", "scale"), wants(3)).continues()
			c.store("web", completes, status)
		}, "trace of web"},
		"Status of Kubernetes": {"a component has that status, whoever writes it by hand", func(c *cluster) {
			c.store("web", deployment(1), bySubresource(theManager, "status")).begins()
			c.store("web", completes, status)
		}, "no cause"},
		"Application": {"the status of an Application has no subresource", func(c *cluster) {
			c.store("app", of("argoproj.io", "Application"), by("kubectl-create"), leaf("spec.source"), under).begins()
			c.store("app", by("argocd-controller"), leaf("spec.project"))
		}, "trace of app"},
		"Application by another": {"another controller writes it", func(c *cluster) {
			c.store("app", of("argoproj.io", "Application"), by("kubectl-create"), leaf("spec.source"), under).begins()
			c.store("app", completes, status)
		}, "no cause"},
		"Person": {"kubectl is no controller", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", by("kubectl-edit"), leaf("spec.port"), bySubresource("kubectl-edit", "status"))
		}, "no cause"},
		"Converged": {"the change has ended", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", converged).noted()
			c.wait(time.Minute)
			c.store("head", completes, status)
		}, "no cause"},
		"In deletion": {"a deletion is completed by nothing", func(c *cluster) {
			c.store("head", custom("Head"), under).begins()
			c.store("head", deleting).begins()
			c.store("head", completes, status)
		}, "no cause"},
		"Scale": {"an autoscaler may have the same name", func(c *cluster) {
			c.store("web", deployment(1)).begins()
			c.store("web", bySubresource("head-controller", "scale"), wants(3), status)
		}, "no cause"},
		"Manages": {"the author made an object with the Job as its controller", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", aWorkload, by("kueue"), owned("batch", "Job", "sums")).below("sums")
			c.store("sums", by("kueue"), wants(2))
		}, "trace of sums"},
		"Manages nothing": {"another component made that object", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", aWorkload, by("other"), owned("batch", "Job", "sums")).below("sums")
			c.store("sums", by("kueue"), wants(2))
		}, "no cause"},
		"Manages by a scale": {"an autoscaler may have the same name", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", aWorkload, by("kueue"), owned("batch", "Job", "sums")).below("sums")
			c.store("sums", bySubresource("kueue", "scale"), wants(2))
		}, "no cause"},
		"Person with an object": {"a person acts for no owner", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", of("", "ConfigMap"), by("kubectl-edit"), owned("batch", "Job", "sums")).below("sums")
			c.store("sums", by("kubectl-edit"), wants(2))
		}, "no cause"},
		"Shared field manager": {"the controllers of one program share it", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", podOf("batch", "Job", "sums")).below("sums")
			c.store("sums", by(theManager), wants(2))
		}, "no cause"},
		"Maker of the status": {"it wrote only the status of the object", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", aWorkload, bySubresource("kueue", "status"), owned("batch", "Job", "sums"))
			c.store("sums", by("kueue"), wants(2))
		}, "no cause"},
		"Another controller": {"the Job is only an owner of the object", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", aWorkload, by("kueue"), plainlyOwned("batch", "Job", "sums"),
				owned("kueue.x-k8s.io", "Queue", "queue")).below("sums")
			c.store("sums", by("kueue"), wants(2))
		}, "no cause"},
		"Same user": {"the log has the same user", func(c *cluster) {
			c.store("sums", job(1)).begins()
			work := all(aWorkload, by("kueue"), owned("batch", "Job", "sums"))
			c.audited(c.store("work", work).below("sums"), kueueUser, "kueue/v1")
			c.audited(c.store("sums", by("other"), wants(2)), kueueUser, "kueue/v1")
		}, "trace of sums"},
		"Forged log": {"an unauthenticated log decides nothing", func(c *cluster) {
			c.store("sums", job(1)).begins()
			work := all(aWorkload, by("kueue"), owned("batch", "Job", "sums"))
			c.audited(c.store("work", work).below("sums"), kueueUser, "kueue/v1")
			c.audited(c.store("sums", by("kueue"), wants(2)), "system:other", "kueue/v1", func(q *write) {
				q.Unauthenticated = true
			})
		}, "trace of sums"},
		"Manages by the log": {"the audit log has another user", func(c *cluster) {
			c.store("sums", job(1)).begins()
			work := all(aWorkload, by("kueue"), owned("batch", "Job", "sums"))
			c.audited(c.store("work", work).below("sums"), kueueUser, "kueue/v1")
			c.audited(c.store("sums", by("kueue"), wants(2)), "system:other", "kueue/v1")
		}, "no cause"},
	})
}
