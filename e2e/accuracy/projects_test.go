// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// project is a controller of another project as its objects see it: a client with a service account. The
// scenario plays its part, with the writes of the project's code in their order.
type project struct {
	*stage

	client dynamic.Interface
}

// project returns the controller with that service account. The API server names the field manager after the
// user agent.
func (s *stage) project(account, agent string) project {
	s.t.Helper()
	return project{stage: s, client: s.client(account, agent)}
}

// write sends a manifest with send. NS in it stands for the scenario's namespace.
func (p project) write(manifest string, send func(dynamic.ResourceInterface, *unstructured.Unstructured) error) {
	p.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NS", p.ns)), &o.Object); err != nil {
		p.t.Fatalf("cannot read manifest: %v\n%s", err, manifest)
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if err := send(p.client.Resource(resource).Namespace(p.ns), o); err != nil {
		p.t.Fatalf("cannot write %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// create creates an object.
func (p project) create(manifest string) {
	p.t.Helper()
	p.write(manifest, func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := in.Create(p.t.Context(), o, metav1.CreateOptions{})
		return err
	})
}

// patch merges a manifest into an object, or into its status.
func (p project) patch(manifest string, subresource ...string) {
	p.t.Helper()
	p.write(manifest, func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		data, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = in.Patch(p.t.Context(), o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
		return err
	})
}

// applies sends a server-side apply with that field manager.
func (p project) applies(manager, manifest string, subresource ...string) {
	p.t.Helper()
	p.write(manifest, func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := in.Apply(p.t.Context(), o.GetName(), o,
			metav1.ApplyOptions{FieldManager: manager, Force: true}, subresource...)
		return err
	})
}

// ownedBy is a list of owner references with an object as the controller.
func (p project) ownedBy(apiVersion, kind, name string) string {
	p.t.Helper()
	apiVersion = strings.ReplaceAll(apiVersion, "NS", p.ns)
	group, _, _ := strings.Cut(apiVersion, "/")
	uid := p.MustKubectl(p.t, "", "-n", p.ns, "get", strings.ToLower(kind)+"s."+group, name, "-o",
		"jsonpath={.metadata.uid}")
	return fmt.Sprintf("[{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true, blockOwnerDeletion: true}]",
		apiVersion, kind, name, uid)
}

const status = "status"

// tekton is the controller of Tekton Pipelines.
type tekton struct{ project }

// progress writes the condition Succeeded of a run. fields are further fields of the status, in flow style.
func (p tekton) progress(kind, name, succeeded, reason, fields string) {
	p.t.Helper()
	p.patch(fmt.Sprintf("{apiVersion: tekton.dev/v1, kind: %s, metadata: {name: %s}, status: {%s, conditions: "+
		"[{type: Succeeded, status: %q, reason: %s, message: %s, lastTransitionTime: %q}]}}",
		kind, name, fields, succeeded, reason, reason, time.Now().UTC().Format(time.RFC3339)), status)
}

// pipelineRun is the manifest of a PipelineRun, with the defaults of Tekton's webhook.
func pipelineRun(name string) string {
	return fmt.Sprintf(`apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: %s}
spec:
  pipelineRef: {name: build}
  taskRunTemplate: {serviceAccountName: default}
  timeouts: {pipeline: 1h0m0s}
`, name)
}

// taskRun is the manifest of the only TaskRun of a PipelineRun.
const taskRun = `apiVersion: tekton.dev/v1
kind: TaskRun
metadata:
  name: %[1]s-compile
  labels: {tekton.dev/pipeline: build, tekton.dev/pipelineRun: %[1]s, tekton.dev/pipelineTask: compile}
  ownerReferences: %[2]s
spec: {serviceAccountName: default, taskRef: {kind: Task, name: compile}, timeout: 1h0m0s}
`

// taskPod is the manifest of the Pod of a TaskRun. Its container ends with a code.
const taskPod = `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s-compile-pod
  labels: {tekton.dev/pipeline: build, tekton.dev/pipelineRun: %[1]s, tekton.dev/taskRun: %[1]s-compile}
  annotations:
    tekton.dev/ready: ""
    lab.lifeline.dev/run: 2s
    lab.lifeline.dev/stop: 100ms
    lab.lifeline.dev/exit-code: "%[3]d"
  ownerReferences: %[2]s
spec:
  restartPolicy: Never
  initContainers: [{name: prepare, image: registry.example/entrypoint:1}]
  containers: [{name: step-compile, image: registry.example/compile:1}]
`

// runs does the work of Tekton for a PipelineRun, whose task ends with a code.
func (p tekton) runs(name string, code int) {
	p.t.Helper()
	task := name + "-compile"
	p.patch("{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: " + name +
		", labels: {tekton.dev/pipeline: build}}}")
	p.create(fmt.Sprintf(taskRun, name, p.ownedBy("tekton.dev/v1", "PipelineRun", name)))
	p.progress("PipelineRun", name, "Unknown", "Running", "childReferences: [{apiVersion: tekton.dev/v1, "+
		"kind: TaskRun, name: "+task+", pipelineTaskName: compile}]")
	p.patch("{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: " + task +
		", labels: {app.kubernetes.io/managed-by: tekton-pipelines}}}")
	p.create(fmt.Sprintf(taskPod, name, p.ownedBy("tekton.dev/v1", "TaskRun", task), code))
	p.progress("TaskRun", task, "Unknown", "Pending", "podName: "+task+"-pod")
	p.await("jsonpath={.status.phase}=Running", "pod/"+task+"-pod")
	p.patch("{apiVersion: v1, kind: Pod, metadata: {name: " + task + "-pod, annotations: {tekton.dev/ready: READY}}}")
	p.progress("TaskRun", task, "Unknown", "Running", "podName: "+task+"-pod")
	phase, succeeded, reason := "Succeeded", "True", "Succeeded"
	if code != 0 {
		phase, succeeded, reason = "Failed", "False", "Failed"
	}
	p.await("jsonpath={.status.phase}="+phase, "pod/"+task+"-pod")
	p.progress("TaskRun", task, succeeded, reason, "podName: "+task+"-pod")
	p.progress("PipelineRun", name, succeeded, reason, "provenance: {}")
	p.settle()
}

// kueue is the controller of Kueue.
type kueue struct{ project }

// workloadKind guards the kind Workload, which two scenarios define.
var workloadKind sync.Mutex

// queueing is the scenery of Kueue.
func (s *stage) queueing() {
	s.t.Helper()
	workloadKind.Lock()
	defer workloadKind.Unlock()
	s.account(kueueAccount)
	s.define(harness.CustomKindOf("Workload", "kueue.x-k8s.io", "v1beta1"), "workloads.kueue.x-k8s.io")
}

// kueueAccount is the service account of Kueue.
const kueueAccount = "kueue-controller-manager"

// kueue returns Kueue for the scenario.
func (s *stage) kueue() kueue { return kueue{s.project(kueueAccount, "kueue/v0.14.0")} }

// queued is the manifest of a Job for a queue, whose Pod runs for that time. Kueue's webhook would suspend it.
func queued(name, runs string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  suspend: true
  template:
    metadata: {annotations: {lab.lifeline.dev/stop: 100ms, lab.lifeline.dev/run: %s}}
    spec:
      restartPolicy: Never
      containers: [{name: app, image: registry.example/once:1, resources: {requests: {cpu: "1"}}}]
`, name, runs)
}

// queues makes the Workload of a Job.
func (p kueue) queues(job string) {
	p.t.Helper()
	p.create(fmt.Sprintf(`apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata:
  name: job-%[1]s-1f2a3
  finalizers: [kueue.x-k8s.io/resource-in-use]
  ownerReferences: %[2]s
spec:
  active: true
  queueName: team
  priority: 0
  podSets:
  - name: main
    count: 1
    template:
      spec:
        restartPolicy: Never
        containers: [{name: app, image: registry.example/once:1, resources: {requests: {cpu: "1"}}}]
`, job, p.ownedBy("batch/v1", "Job", job)))
}

// reports writes conditions of the Workload of a Job. fields are further fields of the status, in flow style.
func (p kueue) reports(manager, job, fields string, conditions ...string) {
	p.t.Helper()
	p.applies(manager, fmt.Sprintf("{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, "+
		"metadata: {name: job-%s-1f2a3}, status: {%s conditions: [%s]}}",
		job, fields, strings.Join(conditions, ",")), status)
}

// admits admits the Workload of a Job, and starts the Job.
func (p kueue) admits(job string) {
	p.t.Helper()
	const admission = "admission: {clusterQueue: all, podSetAssignments: [{name: main, count: 1, " +
		"flavors: {cpu: default}, resourceUsage: {cpu: 1}}]},"
	reserved := addon.Condition("QuotaReserved", 1, "True", "QuotaReserved")
	p.reports("kueue-admission", job, admission, reserved, addon.Condition("Admitted", 1, "True", "Admitted"))
	p.patch("{apiVersion: batch/v1, kind: Job, metadata: {name: " + job + "}, spec: {suspend: false}}")
}

// preempts takes the quota of a running Job, and suspends the Job.
func (p kueue) preempts(job string) {
	p.t.Helper()
	reports := func(admitted, reason string) {
		p.t.Helper()
		p.reports("kueue-admission", job, "",
			addon.Condition("Evicted", 1, "True", "Preempted"),
			addon.Condition("QuotaReserved", 1, admitted, reason),
			addon.Condition("Admitted", 1, admitted, reason))
	}
	p.await("jsonpath={.status.ready}=1", "job/"+job)
	reports("True", "QuotaReserved")
	p.patch("{apiVersion: batch/v1, kind: Job, metadata: {name: " + job + "}, spec: {suspend: true}}")
	p.await("condition=Suspended", "job/"+job)
	reports("False", "Pending")
}

// ends reports the end of a Job.
func (p kueue) ends(job string) {
	p.t.Helper()
	p.await("condition=Complete", "job/"+job)
	p.reports("kueue-job-controller", job, "", addon.Condition("Finished", 1, "True", "JobFinished"))
	p.patch("{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: job-" + job +
		"-1f2a3, finalizers: null}}")
	p.settle()
}

// store is the manifest of a composite resource of Crossplane 2.
func store(versioning bool) string {
	return fmt.Sprintf(`apiVersion: NS.example.com/v1
kind: Store
metadata: {name: one}
spec: {region: eu-central-1, versioning: %t}
`, versioning)
}

// The names in Crossplane's writes.
const (
	composite = "apiextensions.crossplane.io/composite"
	composed  = "apiextensions.crossplane.io/composed/3f1c5a0d9b7e42a68c1d5e7f90a2b4c6"
	// ofStore and ofBucket begin a manifest of the Store and of its Bucket.
	ofStore  = "{apiVersion: NS.example.com/v1, kind: Store, metadata: {name: one"
	ofBucket = "{apiVersion: s3.aws.m.upbound.io/v1beta1, kind: Bucket, metadata: {name: one-4c1f2a9d7b3e"
)

// conditions is a status in flow style with the conditions of Crossplane.
func conditions(generation int, ready, reason string) string {
	return fmt.Sprintf("{conditions: [%s,%s]}",
		addon.Condition("Synced", generation, "True", "ReconcileSuccess"),
		addon.Condition("Ready", generation, ready, reason))
}

// crossplane is Crossplane and a provider. Each is a program with a service account.
type crossplane struct{ core, provider project }

// composes applies the Bucket as the Store wants it.
func (c crossplane) composes(versioning bool) {
	c.core.t.Helper()
	c.core.applies(composed, fmt.Sprintf(ofBucket+", labels: {crossplane.io/composite: one}, "+
		"annotations: {crossplane.io/composition-resource-name: bucket}, ownerReferences: %s}, "+
		"spec: {forProvider: {region: eu-central-1, tags: {versioning: %q}}, providerConfigRef: {name: default}}}",
		c.core.ownedBy("NS.example.com/v1", "Store", "one"), fmt.Sprint(versioning)))
}

// creates does the work of a new Store.
func (c crossplane) creates() {
	c.core.t.Helper()
	c.core.patch(ofStore + ", finalizers: [composite.apiextensions.crossplane.io]}}")
	c.core.patch(ofStore + "}, spec: {crossplane: {compositionRef: {name: store}}}}")
	c.core.patch(ofStore + "}, spec: {crossplane: {compositionRevisionRef: {name: store-5d0fd7e}}}}")
	c.core.applies(composite, ofStore+"}, spec: {crossplane: {resourceRefs: [{apiVersion: "+
		"s3.aws.m.upbound.io/v1beta1, kind: Bucket, name: one-4c1f2a9d7b3e}]}}}")
	c.core.applies(composite, ofStore+"}, status: {bucket: one-4c1f2a9d7b3e}}", status)
	c.composes(false)
	c.core.patch(ofStore+"}, status: "+conditions(4, "False", "Creating")+"}", status)

	c.provider.patch(ofBucket + ", finalizers: [finalizer.managedresource.crossplane.io]}}")
	c.provider.patch(ofBucket + ", annotations: {crossplane.io/external-name: one-4c1f2a9d7b3e}}}")
	c.provider.patch(ofBucket + ", annotations: {crossplane.io/external-create-pending: now}}}")
	c.provider.patch(ofBucket + ", annotations: {crossplane.io/external-create-succeeded: now}}}")
	c.provider.patch(ofBucket+"}, status: "+conditions(1, "False", "Creating")+"}", status)
	time.Sleep(slowly) // the cloud takes its time
	c.provider.patch(ofBucket + "}, spec: {forProvider: {forceDestroy: false}}}")
	c.provider.patch(ofBucket+"}, status: "+conditions(2, "True", "Available")+"}", status)

	c.core.patch(ofStore+"}, status: "+conditions(4, "True", "Available")+"}", status)
	c.core.settle()
}

// updates does the work of a change of the Store.
func (c crossplane) updates() {
	c.core.t.Helper()
	c.composes(true)
	c.core.patch(ofStore+"}, status: "+conditions(5, "True", "Available")+"}", status)
	time.Sleep(time.Second) // the provider takes its time
	c.provider.patch(ofBucket+"}, status: "+conditions(3, "True", "Available")+"}", status)
	c.core.settle()
}

// deletes does the work of a deletion of the Store. The garbage collector deletes the Bucket.
func (c crossplane) deletes() {
	c.core.t.Helper()
	c.core.patch(ofStore+"}, status: "+conditions(6, "False", "Deleting")+"}", status)
	c.core.patch(ofStore + ", finalizers: null}}")
	c.core.await("jsonpath={.metadata.deletionTimestamp}", "buckets.s3.aws.m.upbound.io/one-4c1f2a9d7b3e")
	c.provider.patch(ofBucket+"}, status: "+conditions(4, "False", "Deleting")+"}", status)
	time.Sleep(slowly) // the cloud takes its time
	c.provider.patch(ofBucket + ", finalizers: null}}")
	c.core.settle()
}

// projects are changes of objects of other projects, whose controllers the scenarios play.
var projects = []scenario{
	{
		name: "Tekton runs a pipeline, which fails for somebody else",
		scenery: func(s *stage) {
			s.account("tekton-pipelines-controller")
			s.apply(userA, harness.CustomKind("TaskRun", "tekton.dev"))
			s.define(harness.CustomKind("PipelineRun", "tekton.dev"), "pipelineruns.tekton.dev")
		},
		play: func(s *stage) {
			p := tekton{s.project("tekton-pipelines-controller", "controller/v0.0.0")}
			s.apply(userA, pipelineRun("web"))
			p.runs("web", 0)
			s.apply(userB, pipelineRun("bad"))
			p.runs("bad", 1)
			s.as(userC, "delete", "pipelineruns.tekton.dev/web")
			s.await("delete", "pod/web-compile-pod")
		},
		want: []string{
			"user-a create PipelineRun web converged: create Pod, create TaskRun",
			"user-b create PipelineRun bad failed: create Pod, create TaskRun",
			"user-c delete PipelineRun web deleted: delete Pod, delete TaskRun",
		},
	},
	{
		// Kueue starts a Job for the person who made it, also after a wait for quota.
		name:    "Kueue admits a Job at once, and another one later",
		scenery: (*stage).queueing,
		play: func(s *stage) {
			p := s.kueue()
			s.apply(userA, queued("first", "1s"))
			p.queues("first")
			p.admits("first")
			s.apply(userB, queued("second", "1s"))
			p.queues("second")
			p.reports("kueue-admission", "second", "", addon.Condition("QuotaReserved", 1, "False", "Pending"))
			p.ends("first")
			time.Sleep(slowly) // another Job uses the quota
			p.admits("second")
			p.ends("second")
			s.as(userC, "delete", "job/first")
		},
		want: []string{
			"user-a create Job first converged: create Pod, create Workload",
			"user-b create Job second converged: create Pod, create Workload",
			"user-c delete Job first deleted: delete Pod, delete Workload",
		},
	},
	{
		name:    "Kueue preempts a Job for somebody else",
		scenery: (*stage).queueing,
		play: func(s *stage) {
			p := s.kueue()
			s.apply(userA, queued("low", "20s"))
			p.queues("low")
			p.admits("low")
			s.settle()
			s.apply(userB, queued("high", "5s"))
			p.queues("high")
			p.preempts("low")
			p.admits("high")
			p.ends("high")
			p.admits("low")
			p.ends("low")
		},
		want: []string{
			"user-a create Job low converged: create Pod ×2, create Workload, delete Pod",
			"user-b create Job high converged: create Pod, create Workload",
		},
	},
	{
		name: "Crossplane composes a resource of a cloud",
		scenery: func(s *stage) {
			s.account("crossplane")
			s.account("provider-aws-s3")
			s.apply(userA, harness.CustomKindOf("Bucket", "s3.aws.m.upbound.io", "v1beta1"))
			s.define(harness.CustomKind("Store", s.ns+".example.com"), "stores."+s.ns+".example.com")
		},
		play: func(s *stage) {
			c := crossplane{
				core:     s.project("crossplane", "crossplane/v2.0.2"),
				provider: s.project("provider-aws-s3", "provider/v0.0.0"),
			}
			s.apply(userA, store(false))
			c.creates()
			s.apply(userB, store(true))
			c.updates()
			s.as(userC, "delete", "stores."+s.ns+".example.com/one", "--wait=false")
			c.deletes()
		},
		want: []string{
			"user-a create Store one converged: create Bucket",
			"user-b update Store one converged: update Bucket",
			"user-c delete Store one deleted: delete Bucket",
		},
	},
}
