// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// version returns the version of an object of that kind with the edits.
func version(k object.Kind, edits ...func(*observation.State)) *history.Version {
	s := &observation.State{Generation: 1, ObservedGeneration: -1, Progress: observation.ProgressInProgress}
	s.Kind, s.Group, s.UID, s.ResourceVersion, s.Name, s.Namespace = k, k.Group, "uid", 7, "web", "shop"
	for _, edit := range edits {
		edit(s)
	}
	var r history.Record
	r.State(&observation.Observation{State: s, Seen: epoch}, history.NewShared())
	return r.Last()
}

func condition(typ, status, why, message string) func(*observation.State) {
	return func(s *observation.State) {
		s.Conditions = append(
			s.Conditions,
			observation.Condition{Type: typ, Status: status, Reason: why, Message: message},
		)
	}
}

// progressing is the message of the object's progress.
func progressing(text string) func(*observation.State) {
	return func(s *observation.State) { s.ProgressMessage = text }
}

// onNode is an attachment of volume pv-1 to node-1.
func onNode(s *observation.State) {
	s.Relations = []object.Relation{{Type: object.Volume, To: object.Name{Kind: "PersistentVolume", Name: "pv-1"}}}
	s.Leaves = []observation.Leaf{{Path: kind.FieldAttachedTo, Shown: "node-1"}}
}

// pod is a Pod on a node with the container app.
func pod(c observation.Container) func(*observation.State) {
	return func(s *observation.State) {
		c.Name, c.Image = "app", "web:1"
		s.Pod = &observation.Pod{Node: "n", Containers: []observation.Container{c}}
	}
}

// waitingFor is a container that waits.
func waitingFor(why, message string) observation.Container {
	return observation.Container{State: &observation.ContainerState{Waiting: true, Reason: why, Message: message}}
}

// exited is a container that has ended, restarted n times.
func exited(why string, code, n int32) observation.Container {
	return observation.Container{
		Restarts: n, State: &observation.ContainerState{Reason: why, ExitCode: code, Finished: epoch},
	}
}

func event(why, path, note string) []*history.Event {
	return []*history.Event{
		{
			Notice: &history.Notice{
				Type:      "Warning",
				Reason:    why,
				FieldPath: path,
				Note:      note,
			},
			ResourceVersion: 9,
			Stamp:           epoch,
		},
	}
}

func unbound(s *observation.State) { s.Pod = &observation.Pod{} }

func started(s *observation.State) {
	s.Pod.Containers[0].State = &observation.ContainerState{Started: epoch}
}

// TestReasons: the category, the sentence and the next command for each family.
func TestReasons(t *testing.T) {
	const describe = "kubectl -n shop describe pod/web"
	pull := func(message string) observation.Container {
		return waitingFor("ImagePullBackOff", `Back-off pulling image "web:1": ErrImagePull: `+message)
	}
	for name, tc := range map[string]struct {
		version *history.Version
		events  []*history.Event
		want    Category
		text    string
		next    string
	}{
		"New": {version(kind.Pod.Kind, unbound), nil, "", "waits for a node", describe},
		"Memory": {
			version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable",
				"0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient memory. "+
					"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")),
			nil, UnschedulableMemory, "cannot be scheduled: 0/3 nodes are available: 1 node(s) had untolerated " +
				"taint {a: b}, " +
				"2 Insufficient memory", "kubectl describe node",
		},
		"Autoscaler": {
			version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable", "0/0 nodes")),
			event("TriggeredScaleUp", "", ""), "", "waits for a new node", describe,
		},
		"Taint": {
			version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable",
				"0/3 nodes are available: "+
					"1 Too many pods, 2 node(s) had untolerated taint {a: b}.")), nil,
			UnschedulableTaint, "cannot be scheduled: 0/3 nodes are available: 1 Too many pods, " +
				"2 node(s) had untolerated taint {a: b}", "kubectl describe node",
		},
		"Claim": {
			version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable",
				`persistentvolumeclaim "data" not found`)), nil,
			ClaimMissing, `cannot be scheduled: persistentvolumeclaim "data" not found`,
			"kubectl -n shop get persistentvolumeclaim",
		},
		"Claim that is not bound": {
			version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable",
				`0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found`)), nil,
			VolumeNotBound,
			"cannot be scheduled: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims",
			describe,
		},
		"Gates": {
			version(kind.Pod.Kind, unbound, func(s *observation.State) {
				s.Pod.SchedulingGates = []string{"example.com/a"}
			}),
			nil, SchedulingGated, "waits for scheduling gates example.com/a", describe,
		},
		"Missing image": {
			version(kind.Pod.Kind, pod(pull("failed to pull and unpack image \"web:1\": web:1: not found"))), nil,
			ImageNotFound, "cannot pull image web:1 of container app: not found", describe,
		},
		"Credentials": {
			version(kind.Pod.Kind, pod(pull("failed to authorize: 401 Unauthorized"))), nil,
			ImageUnauthorized, "cannot pull image web:1 of container app: 401 Unauthorized", describe,
		},
		"Registry": {
			version(kind.Pod.Kind, pod(pull("failed to do request: connection refused"))), nil,
			RegistryUnreachable, "cannot pull image web:1 of container app: connection refused", describe,
		},
		"ConfigMap": {
			version(kind.Pod.Kind, pod(waitingFor("CreateContainerConfigError", `configmap "none" not found`))), nil,
			ConfigMapMissing, `cannot create container app: configmap "none" not found`,
			"kubectl -n shop get configmap",
		},
		"Key": {
			version(kind.Pod.Kind, pod(waitingFor("CreateContainerConfigError",
				"couldn't find key a in Secret shop/b"))), nil,
			KeyMissing, "cannot create container app: couldn't find key a in Secret shop/b", describe,
		},
		"Command": {
			version(kind.Pod.Kind, pod(waitingFor("RunContainerError",
				`failed to start: exec: "/x": stat /x: no such file or directory`))),
			nil, InvalidCommand, "cannot start container app: no such file or directory", describe,
		},
		"Mount": {
			version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))),
			event("FailedMount", "", `MountVolume.SetUp failed for volume "v" : configmap "none" not found`),
			ConfigMapMissing, `cannot mount a volume: configmap "none" not found`, "kubectl -n shop get configmap",
		},
		"Attached elsewhere": {
			version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))),
			event("FailedAttachVolume", "",
				`Waiting for detach for volume "shop" Volume is already used by pod(s) web`),
			VolumeMultiAttach, `cannot attach a volume: Waiting for detach for volume "shop" Volume is already ` +
				`used by pod(s) web`, describe,
		},
		"Attached elsewhere, before Kubernetes 1.37": {
			version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))),
			event("FailedAttachVolume", "",
				`Multi-Attach error for volume "shop" Volume is already used by pod(s) web`),
			VolumeMultiAttach, `cannot attach a volume: Multi-Attach error for volume "shop" Volume is already ` +
				`used by pod(s) web`, describe,
		},
		"Sandbox": {
			version(kind.Pod.Kind, pod(observation.Container{})),
			event("FailedCreatePodSandBox", "", "Failed to create pod sandbox: cni plugin not initialized"),
			NetworkFailed, "cannot create its sandbox: cni plugin not initialized", describe,
		},
		"Starting": {
			version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))), nil, "",
			"waits for container app to start", describe,
		},
		"Crash": {
			version(kind.Pod.Kind, pod(exited("Error", 3, 2))), nil, CrashLoop,
			"is in a crash loop: container app exited with code 3, restarted twice",
			"kubectl -n shop logs web -c app --previous",
		},
		"Memory of a container": {
			version(kind.Pod.Kind, pod(exited("OOMKilled", 137, 1))), nil, OutOfMemory,
			"is in a crash loop: container app was killed: out of memory, restarted once",
			"kubectl -n shop logs web -c app --previous",
		},
		"Probe": {
			version(kind.Pod.Kind, pod(observation.Container{}), started),
			event("Unhealthy", "spec.containers{app}",
				"Readiness probe failed: HTTP probe failed with statuscode: 500"),
			ReadinessProbe, "waits for container app to be ready: Readiness probe failed: HTTP probe failed with " +
				"statuscode: 500",
			"kubectl -n shop logs web -c app",
		},
		"Evicted": {
			version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) {
				s.Pod.Phase, s.Pod.Reason, s.Pod.Message = "Failed", "Evicted", "The node was low on resource: memory."
			}), nil, Evicted, "failed: Evicted: The node was low on resource: memory.", describe,
		},
		"Deadline": {
			version(kind.Deployment.Kind, condition("Progressing", "False", "ProgressDeadlineExceeded", "")), nil,
			ProgressDeadline, "exceeded its progress deadline", "kubectl -n shop describe deployment/web",
		},
		"Quota": {
			version(kind.ReplicaSet.Kind, condition("ReplicaFailure", "True", "FailedCreate",
				`pods "web-1" is forbidden: exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4`)), nil,
			QuotaExceeded, `cannot create its Pods: exceeded quota: q, requested: pods=1, ` +
				"used: pods=4, limited: pods=4", "kubectl -n shop describe resourcequota",
		},
		"Replicas": {
			version(kind.Deployment.Kind, func(s *observation.State) {
				s.Workload = &observation.Workload{Replicas: 2, Total: 3, Updated: 1, Available: 1}
			}), nil, "", "has 1 of 2 replicas available, and 2 old", "kubectl -n shop describe deployment/web",
		},
		"Job": {
			version(kind.Job.Kind, condition("Failed", "True", "DeadlineExceeded",
				"Job was active longer than specified deadline"),
				func(s *observation.State) {
					s.Progress, s.ProgressMessage = observation.ProgressFailed,
						"Job was active longer than specified deadline"
				}), nil, JobDeadline, "failed: Job was active longer than specified deadline",
			"kubectl -n shop describe job/web",
		},
		"Class": {
			version(kind.PersistentVolumeClaim.Kind),
			event("FailedBinding", "", "no persistent volumes available for this claim and no storage class is set"),
			ClaimWithoutClass,
			"cannot be bound: no persistent volumes available for this claim and no storage class is set",
			"kubectl -n shop describe persistentvolumeclaim/web",
		},
		"Expansion": { // the Event is from the time before
			version(kind.PersistentVolumeClaim.Kind, expanding), event("WaitForFirstConsumer", "", "waiting"),
			"", "waits for its expansion to 2Gi", "kubectl -n shop describe persistentvolumeclaim/web",
		},
		"Expansion failed": {
			version(kind.PersistentVolumeClaim.Kind, expanding), event("VolumeResizeFailed", "", "no space left"),
			VolumeResize, "cannot be resized: no space left", "kubectl -n shop describe persistentvolumeclaim/web",
		},
		"Finalizer": {
			version(kind.ConfigMap.Kind, func(s *observation.State) {
				s.Deleting, s.Finalizers = epoch, []string{"example.com/keep"}
			}), nil, Finalizer, "waits for finalizer example.com/keep", "kubectl -n shop get configmap/web -o yaml",
		},
		"Namespace": {
			version(kind.Namespace.Kind, func(s *observation.State) { s.Deleting = epoch }, condition(
				"NamespaceContentRemaining", "True", "SomeResourcesRemain",
				"Some resources are remaining: pods. has 1 resource instances",
			)), nil, NamespaceContent,
			"waits for the deletion of its content: Some resources are remaining: pods. has 1 resource instances",
			"kubectl -n shop describe namespace/web",
		},
		"Gateway": {
			version(kind.Gateway.Kind, condition("Accepted", "False", "InvalidParameters", "no such class")), nil,
			NotAccepted, "is not accepted: no such class", "kubectl -n shop describe gateway/web",
		},
		"Gateway without a controller": {
			version(kind.Gateway.Kind, condition("Accepted", "Unknown", "Pending", "Waiting for controller")), nil,
			NotAccepted, "is not accepted: Waiting for controller", "kubectl -n shop describe gateway/web",
		},
		"Certificate without an issuer": {
			version(kind.CertificateRequest.Kind, condition("Ready", "False", "Pending",
				`Referenced "Issuer" not found`),
				progressing("not Ready: x")), nil,
			Certificate, `is not ready: Referenced "Issuer" not found`,
			"kubectl -n shop describe certificaterequest.cert-manager.io/web",
		},
		"Issuance": {
			version(kind.Certificate.Kind, condition("Ready", "False", "DoesNotExist",
				"Issuing certificate as Secret does not exist"),
				progressing("issuing: Issuing certificate as Secret does not exist")), nil,
			"", "is not ready: issuing: Issuing certificate as Secret does not exist",
			"kubectl -n shop describe certificate.cert-manager.io/web",
		},
		"Sync": {
			version(argoApplication, condition("Synced", "False", "OutOfSync", ""),
				progressing("waiting for the sync")), nil,
			"", "waits for the sync", "kubectl -n shop describe application.argoproj.io/web",
		},
		"Running tasks": {
			version(kind.PipelineRun.Kind,
				progressing("Tasks Completed: 1 (Failed: 0, Cancelled 0), Skipped: 0")), nil,
			"", "is not ready: Tasks Completed: 1 (Failed: 0, Cancelled 0), Skipped: 0",
			"kubectl -n shop describe pipelinerun.tekton.dev/web",
		},
		"Composition": {
			version(object.Kind{Group: "example.crossplane.io", Version: "v1", Kind: "XNetwork"},
				condition("Synced", "False", "ReconcileError", "(text withheld)"),
				condition("Ready", "False", "Creating", ""), progressing("Creating")), nil,
			Crossplane, "is not ready: ReconcileError: (text withheld)",
			"kubectl -n shop describe xnetwork.example.crossplane.io/web",
		},
		"Volume that cannot be deleted": {
			version(kind.PersistentVolume.Kind, progressing("(text withheld)"), func(s *observation.State) {
				s.Progress = observation.ProgressFailed
			}), event("VolumeFailedDelete", "", "error getting deleter volume plugin: no volume plugin matched"),
			VolumeFailed, "cannot be deleted: no volume plugin matched",
			"kubectl -n shop describe persistentvolume/web",
		},
		"Denied": {
			version(kind.CertificateSigningRequest.Kind, progressing("Unknown"), func(s *observation.State) {
				s.Progress = observation.ProgressFailed
			}), nil, CertificateUnsigned, "failed: Unknown", "kubectl -n shop describe certificatesigningrequest/web",
		},
		"Challenge": {
			version(kind.Challenge.Kind, progressing("Waiting for HTTP-01 challenge propagation: wrong status "+
				"code '404'")), nil,
			Certificate, "is not ready: Waiting for HTTP-01 challenge propagation: wrong status code '404'",
			"kubectl -n shop describe challenge.acme.cert-manager.io/web",
		},
		"Cloud": {
			version(object.Kind{Group: "s3.aws.upbound.io", Version: "v1", Kind: "Bucket"},
				condition("Synced", "False", "ReconcileError", "connect failed"),
				condition("Ready", "False", "Creating", "")), nil,
			Crossplane, "is not ready: connect failed", "kubectl -n shop describe bucket.s3.aws.upbound.io/web",
		},
		"New cloud resource": {
			version(object.Kind{Group: "s3.aws.upbound.io", Version: "v1", Kind: "Bucket"},
				condition("Synced", "True", "", ""), condition("Ready", "False", "Creating", ""),
				progressing("Creating")), nil,
			"", "is not ready: Creating", "kubectl -n shop describe bucket.s3.aws.upbound.io/web",
		},
		"Queue": {
			version(kind.Workload.Kind, condition("QuotaReserved", "False", "Pending", "insufficient unused quota")),
			nil,
			Kueue, "is not ready: insufficient unused quota", "kubectl -n shop describe workload.kueue.x-k8s.io/web",
		},
		"Queued Job": {
			version(kind.Job.Kind, progressing("waiting for its admission by Kueue")), nil,
			"", "waits for its admission by Kueue", "kubectl -n shop describe job/web",
		},
		"Signer": {
			version(kind.CertificateSigningRequest.Kind, progressing("waiting for its approval")), nil,
			CertificateUnsigned,
			"waits for its approval", "kubectl -n shop describe certificatesigningrequest/web",
		},
		"Snapshot": {
			version(kind.VolumeSnapshot.Kind, progressing("rpc error: code = Internal desc = no space")), nil,
			SnapshotFailed,
			"cannot be taken: no space", "kubectl -n shop describe volumesnapshot/web",
		},
		"Attachment": {
			version(kind.VolumeAttachment.Kind, progressing("rpc error: code = Internal desc = no space"), onNode),
			nil, VolumeNotAttached, "cannot attach volume pv-1 to node node-1: no space",
			"kubectl -n shop describe volumeattachment/web",
		},
		"New attachment": {
			version(kind.VolumeAttachment.Kind, progressing(observation.Attaching+"disk.example.com")), nil, "",
			"waits for attacher disk.example.com", "kubectl -n shop describe volumeattachment/web",
		},
		"New snapshot": {
			version(kind.VolumeSnapshot.Kind), nil, "", "waits for its snapshotter",
			"kubectl -n shop describe volumesnapshot/web",
		},
		"Pause": {
			version(kind.Deployment.Kind, field("spec.minReadySeconds", ""), func(s *observation.State) {
				s.Workload = &observation.Workload{Replicas: 2, Total: 2, Updated: 2, Ready: 2, Available: 1}
			}), nil, "", "waits for minReadySeconds of 1 ready Pods", "kubectl -n shop describe deployment/web",
		},
		"Certificate": {
			version(object.Kind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}, condition(
				"Ready", "False", "ErrInitIssuer", "secret not found",
			), func(s *observation.State) { s.ProgressMessage = "secret not found" }), nil,
			Certificate, "is not ready: secret not found", "kubectl -n shop describe issuer.cert-manager.io/web",
		},
		"Custom": {
			version(object.Kind{Group: "example.com", Version: "v1", Kind: "App"}), nil, "",
			"waits for its controller to report completion", "kubectl -n shop describe app.example.com/web",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Of(tc.version, tc.events)
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if got := r.Next(*tc.version.Ref); got != tc.next {
				t.Errorf("next: got %q, want %q", got, tc.next)
			}
		})
	}
}

// TestCategories: each category is listed once.
func TestCategories(t *testing.T) {
	seen := map[Category]bool{}
	for _, row := range Categories {
		if seen[row.Category] || row.Category == "" || row.Family == "" || row.Meaning == "" {
			t.Errorf("%+v is listed twice or is incomplete", row)
		}
		seen[row.Category] = true
	}
	source, err := os.ReadFile("category.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`Category = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(declared) != len(Categories) {
		t.Errorf("%d categories are declared and %d listed", len(declared), len(Categories))
	}
	for _, d := range declared {
		if !seen[Category(d[1])] {
			t.Errorf("%s is not listed", d[1])
		}
	}
}

// TestFinal: what nothing in sight can change, and after which time.
func TestFinal(t *testing.T) {
	for category, want := range map[Category][3]bool{
		ImageNotFound:    {true, true, true},
		QuotaExceeded:    {false, true, true},
		ClaimMissing:     {false, true, true},
		VolumeNotBound:   {false, false, false}, // a provisioner may take its time
		UnschedulableCPU: {false, false, true},
		CrashLoop:        {false, false, true},
		ReadinessProbe:   {false, false, false},
		"":               {false, false, false},
	} {
		for i, lasted := range []time.Duration{0, 12 * time.Second, 40 * time.Second} {
			if got := category.Final(lasted, 30*time.Second); got != want[i] {
				t.Errorf("%q after %s: got %t, want %t", category, lasted, got, want[i])
			}
		}
	}
}

// TestNextQuotesNothing: a name that a shell would change gets no command.
func TestNextQuotesNothing(t *testing.T) {
	o := object.Ref{Kind: kind.Pod.Kind, Namespace: "shop", Name: "web; rm -rf /"}
	if got := (Reason{}).Next(o); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestWaits: a reason lasts over changes of its text, and over a moment in which the Pod is ready.
func TestWaits(t *testing.T) {
	at := func(v *history.Version, second int) *history.Version {
		w := *v
		w.Seen = epoch.Add(time.Duration(second) * time.Second)
		return &w
	}
	ready := version(
		kind.Pod.Kind,
		pod(observation.Container{Ready: true}),
		started,
		condition("Ready", "True", "", ""),
	)
	list := []*history.Version{
		at(version(kind.Pod.Kind, unbound), 0),
		at(version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))), 2),
		at(ready, 5),
		at(version(kind.Pod.Kind, pod(exited("Error", 3, 1))), 6),
		at(ready, 10),
		at(version(kind.Pod.Kind, pod(exited("Error", 3, 2))), 12),
	}
	got := Waits(list, nil)
	if len(got) != 3 || got[0].For != "a node" || got[2].Category != CrashLoop {
		t.Fatalf("got %+v, want a node, the start and a crash loop", got)
	}
	if !got[0].Since.Equal(epoch) || !got[0].Until.Equal(list[1].Seen) || !got[2].Since.Equal(list[3].Seen) {
		t.Errorf("got %+v, want the crash loop since the first crash", got)
	}
	list[5].Seen = epoch.Add(time.Minute)
	if got := Waits(list, nil); len(got) != 1 || !got[0].Since.Equal(list[5].Seen) {
		t.Errorf("got %+v, want only the crash after a long time ready", got)
	}
}

// TestWaitsByEvents: an Event shows the reason of a wait. The reason begins with the first such Event.
func TestWaitsByEvents(t *testing.T) {
	begun := *version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", "")))
	begun.Seen = epoch
	var events []*history.Event
	for _, second := range []int{20, 10} { // in any order
		e := event("FailedMount", "", `MountVolume.SetUp failed for volume "v" : configmap "none" not found`)[0]
		e.Exact, e.Stamp = true, epoch.Add(time.Duration(second)*time.Second)
		events = append(events, e)
	}
	got, first := Waits([]*history.Version{&begun}, events), epoch.Add(10*time.Second)
	if len(got) != 2 || got[1].Category != ConfigMapMissing || !got[1].Since.Equal(first) ||
		!got[0].Until.Equal(first) {
		t.Errorf("got %+v, want the start until %s and then the ConfigMap", got, first)
	}
}

// expanding is the status of a claim whose expansion goes on.
func expanding(s *observation.State) {
	s.Progress, s.ProgressMessage = observation.ProgressInProgress, observation.Expanding+"2Gi"
}
