// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strings"
	"testing"
)

// canary stands for a confidential value.
const canary = "cNrYhunter2"

// TestClean cleans messages with the wording of Kubernetes 1.37.
func TestClean(t *testing.T) {
	// same marks a message that must not change.
	const same = "="
	cases := map[string]struct{ in, want string }{
		"empty":       {"", ""},
		"unknown":     {"the password " + canary + " is wrong", Withheld},
		"withheld":    {Withheld, Withheld},
		"white space": {"  Container started\n", "Container started"},

		"not found": {`deployments.apps "web" not found`, same},
		"exists":    {`configmaps "web" already exists`, same},
		"modified": {
			`Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply ` +
				`your changes to the latest version and try again`,
			same,
		},
		"quota": {
			`pods "web-7c9-" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=500m, used: ` +
				`pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1200m`,
			same,
		},
		"quota, nothing": {
			`pods "web" is forbidden: failed quota: small: must specify limits.cpu for: web,side; requests.memory ` +
				`for: web`,
			same,
		},
		"limit range": {
			`pods "web" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, minimum memory usage ` +
				`per Pod is 1Gi.  No request is specified]`,
			same,
		},
		"stale API": {
			`Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ` +
				`ext.example.com/v1beta1: stale GroupVersion discovery: ext.example.com/v1beta1, a.example.com/v1: ` +
				`the server is currently unable to handle the request`,
			same,
		},
		"API without an answer": {
			`unable to retrieve the complete list of server APIs: a.example.com/v1: ` + canary +
				`, b.example.com/v1: x`,
			`unable to retrieve the complete list of server APIs: a.example.com/v1: ` + Withheld,
		},
		"right": {
			`pods is forbidden: User "system:serviceaccount:shop:robot" cannot list resource "pods" in API group ` +
				`"" in the namespace "shop"`,
			same,
		},
		"right, reason": {
			`deployments.apps "web" is forbidden: User "alice@example.com" cannot patch resource "deployments" in ` +
				`API group "apps" in the namespace "shop": ` + canary,
			`deployments.apps "web" is forbidden: User "alice@example.com" cannot patch resource "deployments" in ` +
				`API group "apps" in the namespace "shop": ` + Withheld,
		},
		"namespace ends": {
			`pods "web" is forbidden: unable to create new content in namespace shop because it is being terminated`,
			same,
		},
		"pod security": {
			`pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false ` +
				`(container "web" must set securityContext.allowPrivilegeEscalation=false), unrestricted ` +
				`capabilities (container "web" must set securityContext.capabilities.drop=["ALL"]), ` +
				`seccompProfile (pod or container "` + canary + `")`,
			`pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != ` +
				`false, unrestricted capabilities, seccompProfile ` + Withheld,
		},
		"webhook": {
			`admission webhook "policy.example.com" denied the request: env PASSWORD=` + canary,
			`admission webhook "policy.example.com" denied the request: ` + Withheld,
		},
		"webhook, down": {
			`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post ` +
				`"https://policy.shop.svc:443/check?token=` + canary + `": dial tcp 10.0.0.7:443: connect: ` +
				`connection refused`,
			`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post ` +
				`"https://policy.shop.svc:443": dial tcp 10.0.0.7:443: connect: connection refused`,
		},
		"policy": {
			`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: ` + canary,
			`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: ` + Withheld,
		},
		"invalid": {
			`Deployment.apps "web" is invalid: [spec.replicas: Required value, ` +
				`spec.template.spec.containers[0].env[0].value: Invalid value: "` + canary + `, x.` +
				canary + `: Required value", spec.x: Required value]`,
			`Deployment.apps "web" is invalid: spec.replicas: Required value, ` +
				`spec.template.spec.containers[0].env[0].value: Invalid value, spec.x: Required value`,
		},
		"immutable": {
			`Job.batch "once" is invalid: spec.template: Invalid value: ` +
				`{"spec":{"containers":[{"env":[{"value":"` + canary + `"}]}]}}: field is immutable`,
			`Job.batch "once" is invalid: spec.template: Invalid value: field is immutable`,
		},
		"limit": {
			`Pod "web" is invalid: [spec.containers[0].resources.requests: Invalid value: "500m": must be less ` +
				`than or equal to cpu limit of 200m, spec.containers[0].resources.requests: Invalid value: ` +
				`"256Mi": must be less than or equal to memory limit of 128Mi]`,
			`Pod "web" is invalid: spec.containers[0].resources.requests: Invalid value: "500m": must be less ` +
				`than or equal to cpu limit of 200m, spec.containers[0].resources.requests: Invalid value: ` +
				`"256Mi": must be less than or equal to memory limit of 128Mi`,
		},
		"number": {`Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be non-negative`, same},
		"boolean": {`Pod "x" is invalid: spec.hostNetwork: Invalid value: true: ` + canary, `Pod "x" is invalid: ` +
			`spec.hostNetwork: Invalid value: true ` + Withheld},
		"number of a variable": {
			`Pod "x" is invalid: spec.containers[0].env[0].value: Invalid value: 12345, spec.y: Required value`,
			`Pod "x" is invalid: spec.containers[0].env[0].value: Invalid value, spec.y: Required value`,
		},
		"number of a password": {
			`App.example.com "x" is invalid: spec.adminPassword: Invalid value: "12345678"`,
			`App.example.com "x" is invalid: spec.adminPassword: Invalid value`,
		},
		"image": {`Pod "x" is invalid: spec.containers[0].image: Invalid value: "web:1": must be unique`, same},
		"choices": {
			`Pod "x" is invalid: spec.restartPolicy: Unsupported value: "` + canary + `": supported values: ` +
				`"Always", ` +
				`"Never"`,
			`Pod "x" is invalid: spec.restartPolicy: Unsupported value: supported values: "Always", "Never"`,
		},
		"claims to be a list": {
			`Pod "x" is invalid: spec.a: Invalid value: ` + canary + `, spec.b: Invalid value: "1": must be unique`,
			`Pod "x" is invalid: spec.a: Invalid value ` + Withheld,
		},
		"quotes": {
			`Pod "x" is invalid: [spec.a: Invalid value: "\", spec.` + canary + `: Required value: ", spec.b: ` +
				`Required value]`,
			`Pod "x" is invalid: spec.a: Invalid value, spec.b: Required value`,
		},
		"immutable data": {
			"ConfigMap \"c\" is invalid: data: Forbidden: field is immutable when `immutable` is set", same,
		},
		"value of a Secret": {
			`Secret "s" is invalid: [metadata.name: Invalid value: "` + canary + `": must be unique, type: Invalid ` +
				`value: 5: field is immutable]`,
			`Secret "s" is invalid: metadata.name: Invalid value: must be unique, type: Invalid value: field is ` +
				`immutable`,
		},
		"not its detail": {
			`Pod "x" is invalid: [spec.a: Invalid value: "y": bad, spec.b: Invalid value: 3: field is immutable]`,
			`Pod "x" is invalid: spec.a: Invalid value ` + Withheld,
		},
		"typed, core": {
			`failed to create typed patch object (shop/web; /v1, Kind=Pod): .spec.x: field not declared in schema`,
			same,
		},
		"typed, several": {
			"failed to create typed patch object (/web; /v1, Kind=Node): errors:\n  .spec.x: field not declared " +
				"in schema\n  .y: " + canary,
			`failed to create typed patch object (/web; /v1, Kind=Node): .spec.x: ` + Withheld,
		},
		"IPv6": {`Readiness probe failed: dial tcp [fd00::1]:8080: connect: connection refused`, same},
		"aggregated": {
			`(combined from similar events): Back-off restarting failed container web in pod web_shop(1)`,
			same,
		},
		"stranger": {
			`pods is forbidden: User "Jane Doe" cannot list resource "pods" in API group "" in the namespace "shop"`,
			`pods is forbidden: User "` + Withheld + `" cannot list resource "pods" in API group "" in the ` +
				`namespace "shop"`,
		},
		"denied exec": {
			`Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc ` +
				`create failed: unable to start container process: error during container init: exec: "/nope": ` +
				`permission denied: unknown`,
			`Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc ` +
				`create failed: unable to start container process: error during container init: ` +
				`exec: "` + Withheld + `": permission denied: unknown`,
		},
		"pod, changed": {
			"Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.tolerations`\n- env: " + canary,
			"Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image` " + Withheld,
		},
		"set": {
			`Head.example.com "h" is invalid: spec.args[="` + canary + `"]: Duplicate value`,
			`Head.example.com "h" is invalid: spec.args[…]: Duplicate value`,
		},
		"annotation": {`Pod "web" is invalid: metadata.annotations[example.com/a]: Too long`, same},
		"secret": {
			`Secret "s" is invalid: data.password: Required value`,
			`Secret "s" is invalid: data.password: Required value`,
		},
		"secrets": {
			`secrets "s" is forbidden: exceeded quota: small, requested: secrets=1, used: secrets=2, limited: ` +
				`secrets=2`,
			`secrets "s" is forbidden: ` + Withheld,
		},
		"whole object": {
			`Head.example.com "h" is invalid: : ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: ` + canary,
			`Head.example.com "h" is invalid: : ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: ` + Withheld,
		},
		"decoding": {
			`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal object into Go ` +
				`struct field EnvVar.spec.template.spec.containers.env.value of type string`,
			same,
		},
		"decoding, quoted": {
			`Deployment in version "v1" cannot be handled as a Deployment: quantities must match the regular ` +
				`expression, error found in #10 byte of ...|"` + canary + `"|...`,
			`Deployment in version "v1" cannot be handled as a Deployment: ` + Withheld,
		},
		"strict": {
			`Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field ` +
				`"spec.foo", unknown field "spec.template.bar"`,
			same,
		},
		"apply, conflict": {
			`Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: ` +
				`.spec.template.spec.containers[name="web"].image`,
			same,
		},
		"apply, conflicts": {
			"Apply failed with 2 conflicts: conflicts with \"kubectl\" using apps/v1:\n- .spec.replicas",
			"Apply failed with 2 conflicts: " + Withheld,
		},
		"apply, wrong": {
			`failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): ` +
				`.spec.template.spec.containers[name="web"].env: expected list, got &{` + canary + `}`,
			`failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): ` +
				`.spec.template.spec.containers[name="web"].env: ` + Withheld,
		},
		"eviction": {`Cannot evict pod as it would violate the pod's disruption budget.`, same},
		"unmarshalled number": {
			`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 1.5 into ` +
				`Go struct field DeploymentSpec.spec.replicas of type int32`,
			`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal ` +
				`number ` + Withheld + ` into Go struct field DeploymentSpec.spec.replicas of type int32`,
		},

		"scheduling": {
			`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint ` +
				`{node.kubernetes.io/not-ready: }. preemption: 0/3 nodes are available: 1 No preemption victims ` +
				`found for incoming pod, 2 Preemption is not helpful for scheduling.`,
			same,
		},
		"scheduling, preemption": {
			`0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on ` +
				`node node-1, preempting 1 victims`,
			same,
		},
		"attached elsewhere": {
			`Waiting for detach for volume "shop" Volume is already used by pod(s) web`,
			same,
		},
		"no sandbox": {`pod sandbox has no IP address`, same},
		"scheduling, plugin": {
			`0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. 1 node(s) ` +
				`dislike ` + canary + `, 2 Too many pods.`,
			`0/3 nodes are available: pod has unbound immediate ` +
				`PersistentVolumeClaims. 1 ` + Withheld + `, 2 Too many pods.`,
		},
		"rollout": {`ReplicaSet "web-7c94b956c7" has timed out progressing.`, same},
		"replica failure": {
			`pods "web-" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`,
			same,
		},
		"creating": {
			`Error creating: Pod "web-x" is invalid: spec.containers[0].env[0].name: Invalid ` +
				`value: "` + canary + `": a valid environment variable name`,
			`Error creating: Pod "web-x" is invalid: spec.containers[0].env[0].name: Invalid value ` + Withheld,
		},
		"set, created": {"create Pod db-0 in StatefulSet db successful", same},
		"unready":      {"containers with unready status: [web side]", same},
		"evicted": {
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 52488Ki. Container web " +
				"was using 20Mi, request is 0, has larger consumption of memory. ",
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 52488Ki. Container web " +
				"was using 20Mi, request is 0, has larger consumption of memory.",
		},
		"pulled": {
			`Successfully pulled image "10.0.0.1:5000/app:v1" in 2.9s (2.9s including waiting). Image size: 123 bytes.`,
			same,
		},
		"pull failed": {
			`Failed to pull image "10.0.0.1:5000/app:nope": rpc error: code = NotFound desc = failed to pull and ` +
				`unpack image "10.0.0.1:5000/app:nope": failed to resolve image: 10.0.0.1:5000/app:nope: not found`,
			same,
		},
		"no key": {"couldn't find key password in Secret shop/db", same},
		"no command": {
			`failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create ` +
				`failed: unable to start container process: error during container init: ` +
				`exec: "` + canary + `": executable file not found in $PATH: unknown`,
			`failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create ` +
				`failed: unable to start container process: error during container init: ` +
				`exec: "` + Withheld + `": executable file not found in $PATH: unknown`,
		},
		"crash": {
			"back-off 10s restarting failed container=web pod=web-1_shop(3c5a4e3e-0d4c-4c3e-9d0a-1d2f3a4b5c6d)",
			same,
		},
		"probe, HTTP": {"Readiness probe failed: HTTP probe failed with statuscode: 503", same},
		"probe, exec": {
			"Liveness probe failed: cat: " + canary + ": No such file",
			"Liveness probe failed: " + Withheld,
		},
		"probe, token": {
			`Readiness probe failed: Get "http://10.1.0.3:8080/ready?token=` + canary + `": dial tcp ` +
				`10.1.0.3:8080: connect: connection refused`,
			`Readiness probe failed: Get "http://10.1.0.3:8080": dial tcp 10.1.0.3:8080: connect: connection refused`,
		},
		"hook": {
			`Exec lifecycle hook ([sh -c ` + canary + `]) for Container "web" in Pod "web_shop(1)" failed - ` +
				`error: ` + canary,
			"Exec lifecycle hook " + Withheld,
		},
		"exec plugin": {
			"getting credentials: exec: executable aws failed, token " + canary,
			"getting credentials: " + Withheld,
		},
		"sync": {
			`failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 10s restarting failed ` +
				`container=app pod=web_shop(1)"`,
			same,
		},
		"sync, quoted": {
			`failed to "StartContainer" for "app" with RunContainerError: "exec: \"` + canary + `\": permission ` +
				`denied"`,
			`failed to "StartContainer" for "app" with RunContainerError: "exec: \"` + Withheld + `\": permission ` +
				`denied"`,
		},
		"mount": {`MountVolume.SetUp failed for volume "tls" : secret "tls" not found`, same},
		"job": {
			"Container worker for pod shop/once-x failed with exit code 42 matching FailJob rule at index 0",
			same,
		},
		"autoscaler": {"New size: 3; reason: cpu resource utilization (percentage of request) above target", same},
		"endless": {
			"Error creating: " + strings.Repeat("forbidden: ", 100) + canary,
			"Error creating: " + strings.Repeat("forbidden: ", 11) + Withheld,
		},
		"huge": {"Error creating: " + strings.Repeat("x", 1<<20), Withheld},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want == same {
				want = c.in
			}
			got := Clean(c.in)
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if strings.Contains(got, canary) {
				t.Error("the canary is in the output")
			}
			if again := Clean(got); again != got {
				t.Errorf("a second Clean changed it to %q", again)
			}
		})
	}
}

// TestQuotesOfPrograms checks that the words of a program, a webhook or a person are removed, even
// if they look like a sentence of Kubernetes.
func TestQuotesOfPrograms(t *testing.T) {
	for _, text := range []string{
		`Liveness probe failed: token "VALUE" is invalid`,
		`Liveness probe failed: password "VALUE" not found`,
		`Readiness probe failed: dial tcp: lookup app:VALUE@db: no such host`,
		`Liveness probe failed: invalid: VALUE: Not found`,
		`Liveness probe failed: New size: 1; reason: VALUE VALUE`,
		`Liveness probe failed: secret "VALUE" not found`,
		`token "sk_VALUE" is invalid`,
		`user "app:VALUE@db/prod" already exists`,
		`passwords "VALUE" not found`,
		`forbidden: key "VALUE" not found`,
		`dial tcp: lookup VALUE@redis on 10.96.0.10:53: no such host`,
		`dial tcp: lookup redis://:VALUE@redis: no such host`,
		`Get "http://admin:VALUE@host/": EOF`,
		`Get "http://admin:VALUE/x@host/": EOF`,
		`conflict with "kubectl" using v1: .spec.args[="x].VALUE[y"]`,
		`Head.example.com "h" is invalid: spec.args[="a].VALUE: Too long"]: Duplicate value`,
		`Updated limits on password VALUE`,
		`New size: 1; reason: VALUE VALUE`,
		`This password is VALUE daemon set is selecting all pods. A non-empty selector is required.`,
		`unexpected status from GET request to https://x/y: 500 token VALUE`,
		`failed to create typed patch object (shop/web; /v1, Kind=Secret): .data.VALUE: field not declared in schema`,
		`VALUE: Forbidden`,
		`maximum length of VALUE exceeded`,
	} {
		text = strings.ReplaceAll(text, "VALUE", canary)
		if got := Clean(text); strings.Contains(got, canary) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestTermination(t *testing.T) {
	const start = `exec: "x": executable file not found in $PATH: unknown`
	for reason, want := range map[string]string{
		"StartError": `exec: "` + Withheld + `": executable file not found in $PATH: unknown`,
		"Error":      Withheld,
		"":           Withheld,
	} {
		if got := Termination(reason, start); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
	if got := Termination("Completed", ""); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestReason(t *testing.T) {
	for _, s := range []string{"", "Invalid", "FailedCreate", "NewReplicaSetAvailable", "info", "PREBOUND_2"} {
		if got := Reason(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	for _, s := range []string{"it is " + canary, "1", strings.Repeat("x", 65), "a\nb", "sk_live_hunter2", "a.b/c"} {
		if got := Reason(s); got != Withheld {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add(`pods "web" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`)
	f.Add(`Deployment.apps "web" is invalid: [a.b: Required value, c[="x"]: Invalid value: "y"]`)
	f.Add(`0/3 nodes are available: 1 Insufficient cpu, 2 x. preemption: 0/3 nodes are available: 3 y.`)
	f.Add(`failed to "A" for "b" with C: "exec: \"d\": permission denied"`)
	f.Add(`x is forbidden: violates PodSecurity "a": privileged (b), c), hostPort`)
	f.Fuzz(func(t *testing.T, text string) {
		once := Clean(text)
		if twice := Clean(once); twice != once {
			t.Errorf("%q became %q, then %q", text, once, twice)
		}
		mask := func(text string) string { return strings.ReplaceAll(text, canary, mark) }
		masked := (&Cleaner{Text: mask, Refused: mask}).Clean(text)
		if len(masked) > maxOutput || strings.ContainsAny(masked, "\n\x00") && !strings.ContainsAny(text, "\n\x00") {
			t.Errorf("%q became %q", text, masked)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	messages := []string{
		"containers with unready status: [web]",
		"Deployment does not have minimum availability.",
		"Container started",
		`Successfully pulled image "10.0.0.1:5000/app:v1" in 2.9s (2.9s including waiting). Image size: 123 bytes.`,
		`Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your ` +
			`changes to the latest version and try again`,
		"Certificate is up to date and has not expired",
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Clean(messages[i%len(messages)])
	}
}
