// SPDX-License-Identifier: Apache-2.0

package oncall

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// breakage is something that breaks in a separate namespace, whose name is that of the breakage.
type breakage struct {
	name string
	// what says what breaks, for the page.
	what string
	// object is the broken object, as KIND/NAME, and category the reason to be found.
	object, category string
	// before is applied and becomes ready before the breakage, and manifest is the breakage. Both may be empty.
	before, manifest string
	// command is the breakage as a command of kubectl; nil for none.
	command []string
	// first is done before the manifest, and then after it; nil for nothing.
	first, then func(p *play)
	// again is done each minute; nil for nothing.
	again func(p *play)
	// objects is the number of objects of the problem; 0 means one.
	objects int
	// retry is what somebody tries between the two looks, as a command of kubectl; nil for nothing.
	retry []string
	// repair is a command of kubectl that ends the problem; nil for a deletion of the namespace.
	repair []string
}

// deployment is the manifest of Deployment web with an image that is on the node. annotations are those of its Pods,
// container and spec further fields of its container and of its Pods.
func deployment(annotations, container, spec string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {%s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: "registry.example/web:1", imagePullPolicy: Never%s}]
%s`, annotations, container, spec)
}

const (
	service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	quota = `apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {pods: "0"}}
---
`
	autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`
	job = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {lab.lifeline.dev/exit-code: "7"}}
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: "registry.example/migrate:1", imagePullPolicy: Never}]
`
	database = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "registry.example/db:1", imagePullPolicy: Never}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
`
	widget = `apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 1}
`
	unready = `{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"NoQuota",` +
		`"message":"no quota is left","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	webhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: policy}
webhooks:
  - name: policy.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 5
    clientConfig: {url: %q, caBundle: %s}
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: webhook}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`
)

// breakages are twelve things that wake an on-call engineer.
var breakages = []breakage{
	{
		name: "image", what: "an image that does not exist, past its progress deadline, and a restart",
		object: "deployment/web", category: "image_not_found", before: deployment("", "", ""),
		manifest: strings.NewReplacer("web:1", "web:9", "imagePullPolicy: Never", "imagePullPolicy: Always",
			"  selector:", "  progressDeadlineSeconds: 60\n  selector:").Replace(
			deployment("lab.lifeline.dev/pull-error: not found", "", "")),
		retry:  []string{"rollout", "restart", "deployment/web"},
		repair: []string{"rollout", "undo", "deployment/web", "--to-revision=1"},
	},
	{
		name: "crash", what: "a crash loop", object: "deployment/web", category: "crash_loop",
		before: deployment("", "", ""),
		manifest: deployment(
			`lab.lifeline.dev/run: 2s, lab.lifeline.dev/exit-code: "3", lab.lifeline.dev/backoff: 20s`, "", "",
		),
		repair: []string{"rollout", "undo", "deployment/web"},
	},
	{
		name: "probe", what: "a readiness probe that never succeeds", object: "deployment/web",
		category: "readiness_probe", before: deployment("", "", ""),
		manifest: deployment("lab.lifeline.dev/ready: 10h", ", readinessProbe: {httpGet: {port: 80}}", ""),
		then:     (*play).unhealthy, again: (*play).stillUnhealthy,
	},
	{
		name: "cpu", what: "more CPU than a node has", object: "deployment/web", category: "unschedulable_cpu",
		before: deployment("", "", ""), manifest: deployment("", `, resources: {requests: {cpu: "99"}}`,
			// The Pod does not mind the cordoned nodes of another breakage.
			"      tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]\n"),
		retry:  []string{"rollout", "restart", "deployment/web"},
		repair: []string{"set", "resources", "deployment/web", "--requests=cpu=1"},
	},
	{
		name: "quota", what: "a quota that is used up", object: "deployment/web", category: "quota_exceeded",
		manifest: quota + deployment("", "", ""),
	},
	{
		name: "webhook", what: "a webhook that refuses", object: "deployment/web", category: "refused_by_webhook",
		first: (*play).refuse, manifest: deployment("", "", ""),
	},
	{
		name: "claim", what: "a claim without a storage class", object: "statefulset/db",
		category: "claim_without_class", manifest: database, objects: 2,
	},
	{
		name: "autoscaler", what: "an autoscaler without metrics", object: "hpa/web", category: "scale_metric",
		before: deployment("", `, resources: {requests: {cpu: "1"}}`, ""), manifest: autoscaler,
	},
	{
		name: "cordon", what: "no node for a Pod: its nodes are cordoned, and later another one",
		object: "deployment/web", category: "unschedulable_cordon", first: (*play).cordon,
		manifest: deployment("", "", "      nodeSelector: {pool: a}\n"),
		retry:    []string{"cordon", "node-4"},
		repair:   []string{"uncordon", "node-0", "node-1", "node-2", "node-3", "node-4"},
	},
	{
		name: "service", what: "a Service without an endpoint", object: "service/web", category: "no_endpoints",
		manifest: service,
	},
	{
		name: "job", what: "a Job at its back-off limit", object: "job/migrate", category: "job_backoff_limit",
		manifest: job,
	},
	{
		name: "custom", what: "a custom resource with Ready=False", object: "widget/one", category: "condition_false",
		before: harness.CustomKind("Widget", "example.com"), manifest: widget,
		command: []string{"patch", "widget/one", "--subresource=status", "--type=merge", "-p", unready},
		retry:   []string{"annotate", "widget/one", "example.com/retry=1"},
	},
}

// refuse starts an admission webhook that refuses all Pods of the namespace.
func (p *play) refuse() {
	p.t.Helper()
	cert, key, ca, err := bench.Cluster.ServingCert()
	if err != nil {
		p.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		p.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(deny))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	p.t.Cleanup(server.Close)
	bench.MustKubectl(p.t, fmt.Sprintf(webhook, server.URL, base64.StdEncoding.EncodeToString(ca)), "apply", "-f", "-")
	harness.Eventually(p.t, "a refusal by the webhook", func() bool {
		_, err := bench.RunKubectl(p.t.Context(), nil, "-n", p.name, "run", "try", "--image=registry.example/try:1",
			"--dry-run=server")
		return err != nil
	})
}

// deny answers an AdmissionReview: no.
func deny(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",`+
		`"response":{"uid":%q,"allowed":false,"status":{"message":"no Pods here"}}}`, review.Request.UID)
}

// cordon cordons all nodes of pool a.
func (p *play) cordon() {
	p.t.Helper()
	pool := []string{"node-0", "node-1", "node-2", "node-3"}
	bench.MustKubectl(p.t, "", append(append([]string{"label", "node"}, pool...), "pool=a")...)
	p.as(append([]string{"cordon"}, pool...)...)
}

// unhealthy writes the Event of a failed probe, as a kubelet does.
func (p *play) unhealthy() {
	p.t.Helper()
	pod := ""
	harness.Eventually(p.t, "a Pod that is not ready", func() bool {
		out, err := bench.RunKubectl(p.t.Context(), nil, "-n", p.name, "get", "pod", "-o",
			`jsonpath={.items[?(@.status.containerStatuses[0].ready==false)].metadata.name}`)
		pod = out
		return err == nil && pod != ""
	})
	uid := bench.MustKubectl(p.t, "", "-n", p.name, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	now := time.Now().UTC().Format(time.RFC3339)
	bench.MustKubectl(p.t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "probe"},
"type": "Warning", "reason": "Unhealthy", "message": "Readiness probe failed: HTTP probe failed with statuscode: 503",
"count": 1, "firstTimestamp": %[3]q, "lastTimestamp": %[3]q, "source": {"component": "kubelet", "host": "node-4"},
"involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": %[4]q, "name": %[1]q, "uid": %[2]q,
"fieldPath": "spec.containers{web}"}}`, pod, uid, now, p.name), "-n", p.name, "create", "-f", "-")
}

// stillUnhealthy repeats the Event, as a kubelet does.
func (p *play) stillUnhealthy() {
	p.t.Helper()
	bench.MustKubectl(p.t, "", "-n", p.name, "patch", "event", "probe", "--type=merge", "-p",
		fmt.Sprintf(`{"count": %d, "lastTimestamp": %q}`, 1+int(time.Since(p.began).Minutes()),
			time.Now().UTC().Format(time.RFC3339)))
}
