// SPDX-License-Identifier: Apache-2.0

package upstream

import "strings"

// group is a part of the tests that one process runs, as one user.
type group struct{ user, focus, skip string }

// groups run side by side. The names of the tests are those of Kubernetes.
var groups = []group{
	{"tests-of-workloads", either(
		`\[sig-apps\] (Deployment|ReplicaSet|ReplicationController|DisruptionController)`,
		`\[sig-apps\] (Daemon set|ControllerRevision)`,
	), ""},
	{"tests-of-jobs", either(
		`\[sig-apps\] Job.*(delegate|created in suspend|tasks succeed|locally restarted|an Indexed [jJ]ob)`,
		`\[sig-apps\] Job.*(manage the lifecycle|exceeds active deadline|all indexes succeeded)`,
		`\[sig-apps\] TTLAfterFinished`,
		`\[sig-apps\] CronJob.*(API operations|scheduled-timestamp|delete successful|unexpected warnings)`,
		`\[sig-apps\] StatefulSet.*(status endpoints|MinReadySeconds|canary|[sS]cale subresource|list, patch)`,
		`\[sig-apps\] StatefulSet.*(orphans|start\.ordinal)`,
	), ""},
	{"tests-of-the-api", `\[sig-api-machinery\]`, either(owners, quotas)},
	{"tests-of-owners", either(`\[sig-api-machinery\] `+owners, `\[sig-scheduling\] SchedulerPreemption.*`+
		`(disruption condition|PreemptionExecutionPath runs)`), ""},
	{"tests-of-quotas", either(
		`\[sig-api-machinery\] `+quotas,
		`\[sig-scheduling\] LimitRange`,
		`\[sig-auth\] ServiceAccounts (no secret|should (run through|update|guarantee))`,
		`\[sig-auth\] Certificates API`,
		`\[sig-network\] (Ingress|EndpointSlice should (create and delete|support creating))`,
		`\[sig-network\] (EndpointSliceMirroring should mirror a custom Endpoints|Endpoints)`,
		`\[sig-node\] (ConfigMap|Secrets) should (update|run through|fail|patch)`,
		`\[sig-node\] (PodTemplates|RuntimeClass should (reject a Pod requesting a deleted|support|schedule))`,
		`\[sig-node\] Pods (should (be updated|run through|delete a collection|patch a pod status)|Extended.*QOS)`,
	), ""},
}

// These are the longest tests of the API. They run apart from the others.
const (
	owners = `(Garbage collector|Generated clientset|Namespaces|OrderedNamespaceDeletion)`
	quotas = `ResourceQuota`
)

// skips are the tests that fake nodes cannot run, by reason.
var skips = map[string][]string{
	"slow, disruptive or flaky by their own words":    {`\[Slow\]`, `\[Disruptive\]`, `\[Flaky\]`},
	"for a feature that a cluster has not by default": {`\[Feature:`, `\[FeatureGate:`},
	"the API server calls a container": {
		`AdmissionWebhook`, `ConversionWebhook`, `Aggregator`, `Aggregated APIServer`, `CustomResourceFieldSelectors`,
	},
	"a request reaches a container": {
		`serve a basic image on each replica`, `create Endpoints for Pods matching`,
		`create Endpoints and EndpointSlices`,
	},
	"a kubelet keeps what others write to a status": {`lifecycle of Pods and PodStatus`},
	"a command runs in a container":                 {`UnhealthyPodEvictionPolicy`},
	"an image or a port is missing": {
		`proportional scaling`, `recreate evicted statefulset`, `surge pods onto nodes`,
	},
	"a volume is provided": {`PVC`},
	"the load of the other groups counts": {
		`priority and fairness`, `90 percent of 100 namespaces`, `API chunking`,
	},
}

// either matches what one of the expressions matches.
func either(expressions ...string) string { return "(" + strings.Join(expressions, "|") + ")" }
