// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// TestAuthorOf: the user of a request names its component, and else the user agent does.
func TestAuthorOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, user, agent, want string
	}{
		"Scheduler": {"it has a user of its own", "system:kube-scheduler", "kube-scheduler/v1.36", "kube-scheduler"},
		"Collector": {
			"its account has another name", ControllerAccounts + "generic-garbage-collector",
			managerAgent, "garbage-collector",
		},
		"Controller": {
			"each controller has an account", ControllerAccounts + "replicaset-controller",
			managerAgent, "replicaset-controller",
		},
		"DaemonSets": {
			"its account has another name", ControllerAccounts + "daemon-set-controller",
			managerAgent, "daemonset-controller",
		},
		"Other account": {
			"other programs have accounts, too", ControllerAccounts + "coredns", "custom-dns/v1", "custom-dns",
		},
		"Kubelet":       {"it has the user of its Node", "system:node:node-1", "kubelet/v1.36", "kubelet"},
		"On a Node":     {"another program has the user of the Node", "system:node:node-1", "curl/8", "curl"},
		"Manager":       {"another user runs it", "alice", managerAgent, "kube-controller-manager"},
		"Person":        {"the program of the user agent", "alice", "kubectl/v1.36.3 (linux/amd64)", "kubectl"},
		"No user agent": {"nothing names the program", "alice", "", "client"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AuthorOf(&write{User: tc.user, UserAgent: tc.agent}); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestAuthor: the component of a write is that of the audit log, the autoscaler, or the field manager.
func TestAuthor(t *testing.T) {
	testAnswer(t, func(c *cluster, w *change.Write) string { return Author(c.scene, w) }, map[string]ruleCase{
		"Field manager": {"nothing else is known", func(c *cluster) {
			c.store("head", of("example.com", "Head"), by("head-controller"))
		}, "head-controller"},
		"Audit log": {"the log is better", func(c *cluster) {
			c.audited(c.store("head", of("example.com", "Head"), by("head-controller")), "alice", "kubectl/v1.36")
		}, "kubectl"},
		"Unnamed": {"the log names neither user nor program", func(c *cluster) {
			c.audited(c.store("head", of("example.com", "Head"), by("head-controller")), "", "", func(q *write) {
				q.Unauthenticated = true
			})
		}, "head-controller"},
		"Autoscaler": {"the field manager is that of many controllers", func(c *cluster) {
			autoscaled(c)
			c.store("web", by(theManager), wants(3))
		}, "horizontal-pod-autoscaler"},
		"Request": {"the command made it", func(c *cluster) {
			c.run(traceA)
			f := c.store("web", deployment(1))
			c.requested(f, traceA)
			c.audited(f, "alice", "other/v1")
		}, "kubectl"},
	})
}

// TestByOwnerAudited: the audit log decides about the author of a write.
func TestByOwnerAudited(t *testing.T) {
	const account = ControllerAccounts + "replicaset-controller"
	made := func(user string, more ...func(*write)) func(*cluster) {
		return func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), user, managerAgent, more...)
		}
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Controller": {"it has the account of the controller", made(account), "below web-1 (owner)"},
		"Manager": {
			"all controllers may share a user", made("system:kube-controller-manager"), "below web-1 (owner)",
		},
		"Other controller": {"it has another account", made(ControllerAccounts + "job-controller"), "no cause"},
		"Person":           {"a person made the Pod", made("alice"), "no cause"},
		"Forged": {"an unauthenticated log decides nothing", made("alice", func(q *write) {
			q.Unauthenticated = true
		}), "below web-1 (owner)"},
		"No user": {"the log does not name the author", made(""), "below web-1 (owner)"},
		"Other program": {"the account of the controller is enough", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), account, "vendor/v1")
		}, "below web-1 (owner)"},
		"User agent": {"the program is the controller", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), "vendor", "replicaset-controller/v1")
		}, "below web-1 (owner)"},
		"Other user": {"the user has no account in kube-system", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), "replicaset-controller", "vendor/v1")
		}, "no cause"},
		"Kind without effects": {"other controllers work for the owner, too", func(c *cluster) {
			c.store("node-1", aNode, converged).begins()
			c.wait(time.Minute)
			c.audited(c.store("mirror", pod, owned("", "Node", "node-1"), by("vendor")), "alice", "vendor/v1")
		}, "new trace ~owner node-1"},
		"Renamed account": {"the account of the DaemonSet controller has another name", func(c *cluster) {
			c.store("agent", of("apps", "DaemonSet"), by("kubectl-create"), wants(1), fresh).begins()
			c.audited(c.store("agent-x", podOf("apps", "DaemonSet", "agent")),
				ControllerAccounts+"daemon-set-controller", managerAgent)
		}, "below agent (owner)"},
	})
}

// TestByOwnerMaker: for an owner of an unknown kind, the log compares the author with the maker of the object.
func TestByOwnerMaker(t *testing.T) {
	const operator = "system:serviceaccount:heads:operator"
	child := childOfHead("Tail")
	update := all(by("head-controller"), leaf("spec.size"))
	head := func(c *cluster) { c.store("head", custom("Head"), pending).begins() }
	unauthenticated := func(q *write) { q.Unauthenticated = true }
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Same user": {"the maker writes again", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.store("tail", update), operator, "head/v1")
		}, "below head (owner)"},
		"Another user": {"another user writes with the same field manager", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "no cause"},
		"Unknown maker": {"the field manager decides", func(c *cluster) {
			head(c)
			c.store("tail", child).below("head")
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "below head (owner)"},
		"Forged maker": {"an unauthenticated log decides nothing", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1", unauthenticated)
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "below head (owner)"},
		"Audited deletion": {"the maker deletes", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.gone("tail"), operator, "head/v1")
		}, "below head (owner)"},
	})
}
