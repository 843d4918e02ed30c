// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"time"
)

// yearly is the schedule of a CronJob that only runs on demand.
const yearly = "0 0 1 1 *"

// workloads are the built-in kinds beside Deployments whose controllers make Pods.
var workloads = []scenario{
	{
		name: "StatefulSet",
		reason: "its controller copies annotations onto ControllerRevisions, of which a context must make no " +
			"further one",
		steps: []step{
			{name: "create", do: apply(database(2, "db:1"))},
			{name: "apply again", do: apply(database(2, "db:1"))},
			{name: "scale up", do: apply(database(3, "db:1"))},
			{name: "scale down", do: kubectl("scale", "statefulset/db", "--replicas=2")},
			{name: "template", do: apply(database(2, "db:2"))},
			{name: "undo", do: kubectl("rollout", "undo", "statefulset/db")},
			{name: "server-side", do: applySSA(database(1, "db:1") + "  podManagementPolicy: OrderedReady\n")},
			{name: "server-side again", do: applySSA(database(1, "db:1") + "  podManagementPolicy: OrderedReady\n")},
			{name: "heal", do: heal("app=db")},
			// In the foreground its controller may or may not create a revision again.
			{name: "delete", do: kubectl("delete", "statefulset/db")},
		},
	},
	{
		name: "DaemonSet",
		reason: "its controller copies annotations onto ControllerRevisions, of which a context must make no " +
			"further one",
		steps: []step{
			{name: "create", do: apply(agent("agent:1"))},
			{name: "apply again", do: apply(agent("agent:1"))},
			{name: "template", do: apply(agent("agent:2"))},
			{name: "undo", do: kubectl("rollout", "undo", "daemonset/agent")},
			{
				name: "server-side",
				do:   func(s *stage) { apply(agent("agent:3"), "--server-side", "--force-conflicts")(s) },
			},
			{name: "heal", do: heal("app=agent")},
			{name: "delete", do: kubectl("delete", "daemonset/agent")},
		},
	},
	{
		name:   "ReplicaSet",
		reason: "one that no Deployment owns is somebody's own object",
		steps: []step{
			{name: "create", do: apply(set(2))},
			{name: "apply again", do: apply(set(2))},
			{name: "scale up", do: apply(set(3))},
			{name: "scale down", do: kubectl("scale", "replicaset/alone", "--replicas=1")},
			{name: "heal", do: heal("app=alone")},
			{name: "delete and leave orphans", do: kubectl("delete", "replicaset/alone", "--cascade=orphan")},
			{name: "adopt them", do: apply(set(1))},
			{name: "delete", do: kubectl("delete", "replicaset/alone")},
		},
	},
	{
		name:   "Job",
		reason: "its controller writes each Pod once more, to take its finalizer away",
		steps: []step{
			{name: "create", do: apply(task("name: once"))},
			{name: "apply again", do: apply(task("name: once"))},
			{name: "several", do: apply(task("name: several", "  completions: 2", "  suspend: true"))},
			{name: "resume", do: patch("job/several", `{"spec":{"suspend":false}}`)},
			{name: "server-side", do: applySSA(task("name: other", "  suspend: true"))},
			{name: "server-side again", do: applySSA(task("name: other", "  suspend: true"))},
			{name: "generated names", do: func(s *stage) {
				for range 2 {
					s.stdin(task("generateName: made-"), "create", "-f", "-")
				}
			}},
			{name: "delete", do: kubectl("delete", "job", "once", "several")},
		},
	},
	{
		name:   "CronJob",
		reason: "what it makes now is a new change and no part of the one that made it",
		steps: []step{
			{name: "create", do: apply(cron(yearly, false))},
			{name: "apply again", do: apply(cron(yearly, false))},
			{name: "schedule", do: apply(cron("0 0 2 1 *", true))},
			{name: "due", do: func(s *stage) {
				// It was last at work so long ago that one time since has been missed.
				last := time.Now().AddDate(-1, 0, 0).UTC().Format(time.RFC3339)
				s.kubectl(
					"patch",
					"cronjob/nightly",
					"--subresource=status",
					"--type=merge",
					"-p",
					fmt.Sprintf(`{"status":{"lastScheduleTime":%q}}`, last),
				)
				apply(cron("0 0 2 1 *", false))(s)
				s.kubectl("wait", "cronjob/nightly", "--for=jsonpath={.status.lastSuccessfulTime}", "--timeout=4m")
			}},
			{name: "by hand", do: kubectl("create", "job", "now", "--from=cronjob/nightly")},
			{name: "delete", do: kubectl("delete", "cronjob/nightly", "--cascade=foreground")},
		},
	},
	{
		name:   "Pod",
		reason: "one that nobody controls is somebody's own object",
		steps: []step{
			{name: "create", do: kubectl("run", "one", "--image=registry.example/web:1")},
			{name: "label", do: kubectl("label", "pod/one", "team=a")},
			{name: "image", do: kubectl("set", "image", "pod/one", "one=registry.example/web:2")},
			{name: "delete", do: kubectl("delete", "pod/one", "--grace-period=1")},
		},
	},
}

// plainObjects are objects with little or no work by controllers.
var plainObjects = []scenario{
	{
		name:   "Service",
		reason: "the API server fills in what its writer leaves out, each time",
		steps: []step{
			{name: "Pods", do: apply(web(1, "web:1"))},
			{name: "create", do: apply(service(80))},
			{name: "apply again", do: apply(service(80))},
			{name: "port", do: apply(service(81))},
			{
				name: "server-side",
				do:   func(s *stage) { apply(service(81)+unready, "--server-side", "--force-conflicts")(s) },
			},
			{
				name: "server-side again",
				do:   func(s *stage) { apply(service(81)+unready, "--server-side", "--force-conflicts")(s) },
			},
			{name: "replace", do: func(s *stage) {
				s.save("service/web")
				s.stdin(service(81)+unready, "replace", "-f", "-")
			}},
			{name: "replace, other port", do: func(s *stage) { s.stdin(service(83), "replace", "-f", "-") }},
			{
				name: "replace by a saved old one",
				do:   func(s *stage) { s.stdin(s.restored("service/web"), "replace", "-f", "-") },
			},
			{name: "label", do: kubectl("label", "service/web", "team=a")},
			{name: "delete", do: kubectl("delete", "service/web")},
		},
	},
	{
		name:   "ConfigMap and claim",
		reason: "objects without a status, or without a generation, are no other",
		steps: []step{
			{name: "create", do: apply(settingsMap("1") + "---\n" + volume)},
			{name: "apply again", do: apply(settingsMap("1") + "---\n" + volume)},
			{name: "change", do: apply(settingsMap("2"))},
			{name: "replace, the same", do: func(s *stage) { s.stdin(settingsMap("2"), "replace", "-f", "-") }},
			{name: "replace, changed", do: func(s *stage) { s.stdin(settingsMap("3"), "replace", "-f", "-") }},
			{
				name: "server-side",
				do:   func(s *stage) { apply(settingsMap("4"), "--server-side", "--force-conflicts")(s) },
			},
			{
				name: "server-side again",
				do:   func(s *stage) { apply(settingsMap("4"), "--server-side", "--force-conflicts")(s) },
			},
			{name: "annotate", do: kubectl("annotate", "configmap/settings", "note=a")},
			{name: "grow", do: patch("pvc/data", `{"metadata":{"labels":{"a":"b"}}}`)},
			{name: "delete", do: kubectl("delete", "configmap/settings", "pvc/data")},
		},
	},
}

// restores are scenarios in which objects come back.
var restores = []scenario{
	{
		name:   "backup restored",
		reason: "what comes back carries the context of another time and another UID",
		steps: []step{
			{name: "create", do: apply(web(2, "web:1") + "---\n" + database(1, "db:1") + "---\n" + service(80))},
			{name: "delete", do: func(s *stage) {
				for _, o := range []string{"deployment/web", "statefulset/db", "service/web"} {
					s.save(o)
					s.kubectl("delete", o)
				}
			}},
			{name: "restore", do: func(s *stage) {
				for _, o := range []string{"deployment/web", "statefulset/db", "service/web"} {
					s.stdin(s.restored(o), "create", "-f", "-")
				}
			}},
			{name: "clone", do: func(s *stage) {
				s.stdin(renamed(s.restored("statefulset/db"), "db", "copy"), "create", "-f", "-")
			}},
		},
	},
	{
		name:   "live objects applied",
		reason: "somebody applies what kubectl get printed, contexts and all",
		steps: []step{
			{name: "create", do: apply(web(2, "web:1") + "---\n" + database(1, "db:1"))},
			{name: "apply what is", do: func(s *stage) {
				s.save("deployment/web")
				s.save("statefulset/db")
				apply(s.restored("deployment/web") + "---\n" + s.restored("statefulset/db"))(s)
			}},
			{name: "change", do: func(s *stage) {
				s.kubectl("set", "image", "deployment/web", "main=registry.example/web:2")
				s.kubectl("set", "image", "statefulset/db", "main=registry.example/db:2")
			}},
			{name: "apply what was", do: func(s *stage) {
				apply(s.restored("deployment/web") + "---\n" + s.restored("statefulset/db"))(s)
			}},
			{
				name: "apply it again", do: func(s *stage) {
					apply(s.restored("deployment/web") + "---\n" + s.restored("statefulset/db"))(s)
				},
				// Measured, and known: the manifest's old context is put right, but the
				// API server has noted by then that its manager was the last to write,
				// and stores that: once, and the generation stays.
				may: map[string]int{"statefulsets db: patch": 1},
			},
		},
	},
}
