// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"

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
