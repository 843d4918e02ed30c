// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestProgress(t *testing.T) {
	const meta = `"metadata":{"uid":"u","resourceVersion":"1","generation":2,` +
		`"creationTimestamp":"2026-05-04T03:02:01Z"},`
	const route = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute",` + meta +
		`"spec":{"parentRefs":[{"name":"a"},{"name":"b","sectionName":"web","port":80}]},"status":{`
	const debugged = `{"apiVersion":"v1","kind":"Pod",` + meta +
		`"spec":{"ephemeralContainers":[{"name":"dbg"},{"name":"bad"}]},"status":{"phase":"Running",` +
		`"conditions":[{"type":"Ready","status":"True"}],"ephemeralContainerStatuses":[`
	cases := map[string]struct {
		reason  string
		object  string
		want    observation.Progress
		message string
	}{
		"ExternalIPs": {
			reason: "a Service with external IPs needs no load balancer",
			object: `{"apiVersion":"v1","kind":"Service",` + meta +
				`"spec":{"type":"LoadBalancer","externalIPs":["192.0.2.8"]},"status":{"loadBalancer":{}}}`,
			want: observation.ProgressCurrent, message: observation.Unaddressed,
		},
		"LoadBalancer": {
			reason: "another Service waits for its load balancer",
			object: `{"apiVersion":"v1","kind":"Service",` + meta + `"spec":{"type":"LoadBalancer"},"status":{}}`,
			want:   observation.ProgressInProgress, message: "waiting for the address of a load balancer",
		},
		"JobRunning": {
			reason: "a running Job is in progress",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"startTime":"2026-05-04T03:02:01Z","active":1}}`,
			want: observation.ProgressInProgress,
		},
		"JobComplete": {
			reason: "a Job with the condition Complete is current",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"JobFailed": {
			reason: "a failed Job has a message",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"status":{"conditions":[{"type":"Failed","status":"True",` +
				`"message":"Job was active longer than specified deadline"}]}}`,
			want:    observation.ProgressFailed,
			message: "Job was active longer than specified deadline",
		},
		"ClaimExpanding": {
			reason: "the file system is not expanded yet",
			object: `{"apiVersion":"v1","kind":"PersistentVolumeClaim",` + meta +
				`"spec":{"resources":{"requests":{"storage":"2Gi"}}},` +
				`"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`,
			want: observation.ProgressInProgress, message: "waiting for its expansion to 2Gi",
		},
		"ClaimExpanded": {
			reason: "the claim has what it requests, or more",
			object: `{"apiVersion":"v1","kind":"PersistentVolumeClaim",` + meta +
				`"spec":{"resources":{"requests":{"storage":"1536Mi"}}},` +
				`"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}}`,
			want: observation.ProgressCurrent,
		},
		"JobSuspended": {
			reason: "a suspended Job needs no more work",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want: observation.ProgressCurrent, message: "suspended",
		},
		"JobQueued": {
			reason: "Kueue resumes a suspended Job with a queue",
			object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x","uid":"u",` +
				`"resourceVersion":"1","labels":{"kueue.x-k8s.io/queue-name":"team"}},` +
				`"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want: observation.ProgressInProgress, message: "waiting for its admission by Kueue",
		},
		"JobResumed": {
			reason: "a resumed Job has an old condition until its controller answers",
			object: `{"apiVersion":"batch/v1","kind":"Job",` + meta +
				`"spec":{"suspend":false},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`,
			want: observation.ProgressInProgress,
		},
		"PodUnschedulable": {
			reason: "the verdict must not depend on the Pod's age",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta + `"status":{"phase":"Pending",` +
				`"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`,
			want: observation.ProgressInProgress,
		},
		"PodReady": {
			reason: "a ready Pod is current",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta +
				`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"NodeNew": {
			reason: "no kubelet has reported yet",
			object: `{"apiVersion":"v1","kind":"Node",` + meta + `"status":{}}`,
			want:   observation.ProgressInProgress, message: "waiting for the kubelet",
		},
		"NodeReady": {
			reason: "a ready Node is current",
			object: `{"apiVersion":"v1","kind":"Node",` + meta +
				`"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"OrderInvalid": {
			reason: "an invalid order is never valid again",
			object: `{"apiVersion":"acme.cert-manager.io/v1","kind":"Order",` + meta +
				`"status":{"state":"invalid","reason":"Failed to create Order: context deadline exceeded"}}`,
			want: observation.ProgressFailed, message: "Failed to create Order: context deadline exceeded",
		},
		"ChallengePending": {
			reason: "a challenge waits for the right answer",
			object: `{"apiVersion":"acme.cert-manager.io/v1","kind":"Challenge",` + meta +
				`"status":{"state":"pending",` +
				`"reason":"Waiting for HTTP-01 challenge propagation: wrong status code '404', expected '200'"}}`,
			want:    observation.ProgressInProgress,
			message: "Waiting for HTTP-01 challenge propagation: wrong status code '404', expected '200'",
		},
		"ChallengeValid": {
			reason: "the server has accepted the answer",
			object: `{"apiVersion":"acme.cert-manager.io/v1","kind":"Challenge",` + meta +
				`"status":{"state":"valid"}}`,
			want: observation.ProgressCurrent,
		},
		"TaskRunFailed": {
			reason: "a task runs once",
			object: `{"apiVersion":"tekton.dev/v1","kind":"TaskRun",` + meta + `"status":{"conditions":[` +
				`{"type":"Succeeded","status":"False","reason":"TaskRunTimeout",` +
				`"message":"TaskRun \"web\" failed to finish within \"1h0m0s\""}]}}`,
			want: observation.ProgressFailed, message: `TaskRun "web" failed to finish within "1h0m0s"`,
		},
		"TaskRunRunning": {
			reason: "a running task is in progress",
			object: `{"apiVersion":"tekton.dev/v1","kind":"TaskRun",` + meta +
				`"status":{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running"}]}}`,
			want: observation.ProgressInProgress, message: "Running",
		},
		"SnapshotNew": {
			reason: "a snapshot is not ready to use",
			object: `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",` + meta +
				`"status":{"readyToUse":false,"error":{"message":"timed out waiting for the condition"}}}`,
			want: observation.ProgressInProgress, message: "timed out waiting for the condition",
		},
		"SnapshotReady": {
			reason: "a snapshot is ready to use",
			object: `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",` + meta +
				`"status":{"readyToUse":true}}`,
			want: observation.ProgressCurrent,
		},
		"AttachmentNew": {
			reason: "its attacher has not begun",
			object: `{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",` + meta +
				`"spec":{"attacher":"disk.example.com","nodeName":"node-1"},"status":{"attached":false}}`,
			want: observation.ProgressInProgress, message: "waiting for attacher disk.example.com",
		},
		"AttachmentFailed": {
			reason: "its attacher tries again",
			object: `{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",` + meta +
				`"spec":{"attacher":"disk.example.com","nodeName":"node-1"},"status":{"attached":false,` +
				`"attachError":{"time":"2026-01-02T03:04:05Z","message":"context deadline exceeded"}}}`,
			want: observation.ProgressInProgress, message: "context deadline exceeded",
		},
		"AttachmentDone": {
			reason: "the volume is attached",
			object: `{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",` + meta +
				`"spec":{"attacher":"disk.example.com","nodeName":"node-1"},"status":{"attached":true}}`,
			want: observation.ProgressCurrent,
		},
		"AttachmentLeft": {
			reason: "the volume cannot be detached",
			object: `{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",` +
				strings.Replace(meta, `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z",`, 1) +
				`"spec":{"attacher":"disk.example.com","nodeName":"node-1"},"status":{"attached":true,` +
				`"detachError":{"time":"2026-01-02T03:04:05Z","message":"the volume is in use"}}}`,
			want: observation.ProgressTerminating, message: "“the volume is in use”",
		},
		"VolumeReleased": {
			reason: "a released volume waits for nothing",
			object: `{"apiVersion":"v1","kind":"PersistentVolume",` + meta + `"status":{"phase":"Released"}}`,
			want:   observation.ProgressCurrent, message: "released",
		},
		"VolumeFailed": {
			reason: "a volume could not be reclaimed",
			object: `{"apiVersion":"v1","kind":"PersistentVolume",` + meta +
				`"status":{"phase":"Failed","message":"timed out waiting for the condition"}}`,
			want: observation.ProgressFailed, message: "timed out waiting for the condition",
		},
		"RequestNew": {
			reason: "nobody has approved the request",
			object: `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",` + meta +
				`"spec":{"signerName":"example.com/a"},"status":{}}`,
			want: observation.ProgressInProgress, message: "waiting for its approval",
		},
		"RequestApproved": {
			reason: "the signer has not signed",
			object: `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",` + meta +
				`"spec":{"signerName":"example.com/a"},"status":{"conditions":[{"type":"Approved","status":"True"}]}}`,
			want: observation.ProgressInProgress, message: "waiting for signer example.com/a",
		},
		"RequestSigned": {
			reason: "the certificate is there",
			object: `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",` + meta +
				`"status":{"conditions":[{"type":"Approved","status":"True"}],"certificate":"YQ=="}}`,
			want: observation.ProgressCurrent,
		},
		"RequestDenied": {
			reason: "a denied request fails",
			object: `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",` + meta +
				`"status":{"conditions":[{"type":"Denied","status":"True","reason":"Unknown"}]}}`,
			want: observation.ProgressFailed, message: "Unknown",
		},
		"PodDebugged": {
			reason: "an ephemeral container has not started",
			object: debugged + `{"name":"dbg","state":{"running":{"startedAt":"2026-05-04T03:02:01Z"}}},` +
				`{"name":"bad","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}}`,
			want:    observation.ProgressInProgress,
			message: "waiting for ephemeral container bad: ImagePullBackOff",
		},
		"PodDebuggedBefore": {
			reason: "an ended ephemeral container has run",
			object: debugged + `{"name":"dbg","state":{"running":{"startedAt":"2026-05-04T03:02:01Z"}}},` +
				`{"name":"bad","state":{"terminated":{"exitCode":1}}}]}}`,
			want: observation.ProgressCurrent,
		},
		"PodDebuggedAgain": {
			reason: "an older ephemeral container has not started",
			object: debugged + `{"name":"dbg","state":{"waiting":{"reason":"ImagePullBackOff"}}},` +
				`{"name":"bad","state":{"running":{"startedAt":"2026-05-04T03:02:01Z"}}}]}}`,
			want: observation.ProgressCurrent,
		},
		"PodFailed": {
			reason: "a failed Pod has a message",
			object: `{"apiVersion":"v1","kind":"Pod",` + meta +
				`"status":{"phase":"Failed","message":"The node was low on resource: memory."}}`,
			want: observation.ProgressFailed, message: "The node was low on resource: memory.",
		},
		"NotObserved": {
			reason: "the controller has not observed the generation yet",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`,
			want: observation.ProgressInProgress, message: "X generation is 2, but latest observed generation is 1",
		},
		"CustomReady": {
			reason: "kstatus reads the condition Ready of any kind",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"conditions":[{"type":"Ready","status":"False",` +
				`"message":"containers with unready status: [web]"}]}}`,
			want:    observation.ProgressInProgress,
			message: "containers with unready status: [web]",
		},
		"Stalled": {
			reason: "kstatus reads Stalled; text is shown, values are masked",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta +
				`"status":{"conditions":[{"type":"Stalled","status":"True",` +
				`"reason":"NoQuota","message":"the token is hunter2!"}]}}`,
			want:    observation.ProgressFailed,
			message: "“the token is …”",
		},
		"RouteUnknown": {
			reason: "the second Gateway has not answered",
			object: route + `"parents":[` + answer("a", 2, "True", "True") + `]}}`,
			want:   observation.ProgressInProgress, message: "waiting for Gateway b",
		},
		"RouteRefused": {
			reason: "one of two Gateways does not accept the route",
			object: route + `"parents":[` + answer("b", 2, "False", "True") + `,` +
				answer("a", 2, "True", "True") + `]}}`,
			want: observation.ProgressInProgress, message: "not Accepted: NotAllowedByListeners",
		},
		"RouteUnresolved": {
			reason: "a Service is missing",
			object: route + `"parents":[` + answer("a", 2, "True", "False") + `,` +
				answer("b", 2, "True", "True") + `]}}`,
			want: observation.ProgressInProgress, message: "not ResolvedRefs: NotAllowedByListeners",
		},
		"RouteAccepted": {
			reason: "both Gateways serve the route",
			object: route + `"parents":[` + answer("a", 2, "True", "True") + `,` +
				answer("b", 2, "True", "True") + `]}}`,
			want: observation.ProgressCurrent,
		},
		"RouteWithoutParents": {
			reason: "a route without parents waits for nothing",
			object: `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute",` + meta + `"spec":{}}`,
			want:   observation.ProgressCurrent,
		},
		"APIServiceAvailable": {
			reason: "an API is available",
			object: `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",` + meta +
				`"status":{"conditions":[{"type":"Available","status":"True","reason":"Passed"}]}}`,
			want: observation.ProgressCurrent,
		},
		"APIServiceWithoutService": {
			reason: "an API is not available",
			object: `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",` + meta +
				`"status":{"conditions":[{"type":"Available","status":"False","reason":"ServiceNotFound"}]}}`,
			want: observation.ProgressInProgress, message: "not Available: ServiceNotFound",
		},
		"GatewayProgrammed": {
			reason: "a Gateway is done when it is programmed",
			object: `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway",` + meta +
				`"status":{"conditions":[{"type":"Accepted","status":"True"},{"type":"Programmed","status":"True"}]}}`,
			want: observation.ProgressCurrent,
		},
		"GatewayAccepted": {
			reason: "the second condition is missing",
			object: `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway",` + meta +
				`"status":{"conditions":[{"type":"Accepted","status":"True"}]}}`,
			want: observation.ProgressInProgress,
		},
		"GatewayPending": {
			reason: "an accepted Gateway may lack an address",
			object: `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway",` + meta +
				`"status":{"conditions":[{"type":"Accepted","status":"True"},` +
				`{"type":"Programmed","status":"False","reason":"AddressNotAssigned"}]}}`,
			want: observation.ProgressInProgress, message: "not Programmed: AddressNotAssigned",
		},
		"Malformed": {
			reason: "a malformed status means in progress, without an error",
			object: `{"apiVersion":"x/v1","kind":"X",` + meta + `"status":{"conditions":"soon"}}`,
			want:   observation.ProgressInProgress,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := normalizer.Object(parse(t, tc.object))
			if s.Progress != tc.want || tc.message != "" && s.ProgressMessage != tc.message {
				t.Errorf("%s: want %s %q, got %s %q", tc.reason, tc.want, tc.message, s.Progress, s.ProgressMessage)
			}
		})
	}
}

// answer is the status of a route for the Gateway of that name.
func answer(gateway string, generation int, accepted, resolved string) string {
	ref := fmt.Sprintf(`{"name":%q}`, gateway)
	if gateway == "b" {
		ref = `{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"b","sectionName":"web","port":80}`
	}
	condition := func(typ, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"observedGeneration":%d,"reason":"NotAllowedByListeners",`+
			`"lastTransitionTime":"2026-05-04T03:02:01Z"}`, typ, status, generation)
	}
	return fmt.Sprintf(`{"parentRef":%s,"controllerName":"example.com/controller","conditions":[%s,%s]}`,
		ref, condition("Accepted", accepted), condition("ResolvedRefs", resolved))
}

// TestParentsGeneration: the parent that is behind decides the observed generation of a route.
func TestParentsGeneration(t *testing.T) {
	s := normalizer.Object(parse(t, `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute",
		"metadata":{"uid":"u","resourceVersion":"1","generation":2},"status":{"parents":[`+
		answer("a", 2, "False", "True")+`,`+answer("b", 1, "True", "True")+`]}}`))
	if c := s.Condition("Accepted"); s.ObservedGeneration != 1 || len(s.Conditions) != 2 || c.Status != "True" {
		t.Errorf("got generation %d and conditions %+v", s.ObservedGeneration, s.Conditions)
	}
}

// TestIngress: an Ingress waits for an address if another one of its class has one.
func TestIngress(t *testing.T) {
	n := New([KeySize]byte{}, Settings{})
	judged := func(kind, spec, status string) string {
		s := n.Object(parse(t, `{"apiVersion":"networking.k8s.io/v1","kind":"`+kind+
			`","metadata":{"name":"web","uid":"u","resourceVersion":"1"},"spec":{`+spec+`},"status":{`+status+`}}`))
		return string(s.Progress) + " " + s.ProgressMessage
	}
	const address = `"loadBalancer":{"ingress":[{"ip":"192.0.2.8"}]}`
	for i, step := range []struct{ kind, spec, status, want string }{
		{"Ingress", `"ingressClassName":"a"`, ``, "Current no address"},
		{"Ingress", `"ingressClassName":"a"`, address, "Current "},
		{"Ingress", `"ingressClassName":"a"`, ``, "InProgress waiting for the address of a load balancer"},
		{"Ingress", `"ingressClassName":"b"`, ``, "Current no address"},
		{"Ingress", ``, ``, "Current no address"},
	} {
		if got := judged(step.kind, step.spec, step.status); got != step.want {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
	}
}
