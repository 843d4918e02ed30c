// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// told returns an audit event with some members replaced.
func told(parts ...string) string {
	members := map[string]string{
		"kind":       `"Event"`,
		"apiVersion": `"audit.k8s.io/v1"`,
		"level":      `"RequestResponse"`,
		"auditID":    `"id"`,
		"stage":      `"ResponseComplete"`,
		"verb":       `"update"`,
		"requestURI": `"/apis/apps/v1/namespaces/shop/deployments/web"`,
		"userAgent":  `"kubectl/v1.36.3 (linux/amd64)"`,
		"user":       `{"username":"jane","groups":["dev"]}`,
		"objectRef": `{"resource":"deployments","namespace":"shop","name":"web",` +
			`"apiGroup":"apps","apiVersion":"v1"}`,
		"responseStatus":           `{"metadata":{},"code":200}`,
		"requestReceivedTimestamp": `"2026-05-04T03:02:01.000123Z"`,
		"stageTimestamp":           `"2026-05-04T03:02:01.004567Z"`,
	}
	for i := 0; i < len(parts); i += 2 {
		members[parts[i]] = parts[i+1]
	}
	var out []string
	for _, name := range []string{
		"kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user", "impersonatedUser",
		"userAgent", "objectRef",
		"responseStatus", "requestObject", "responseObject", "requestReceivedTimestamp", "stageTimestamp",
		"annotations",
	} {
		if v := members[name]; v != "" {
			out = append(out, fmt.Sprintf("%q:%s", name, v))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func ref(resource, more string) string {
	return `{"resource":"` + resource + `","namespace":"shop","apiVersion":"v1"` + more + `}`
}

func TestWrites(t *testing.T) {
	deployment := object.Ref{
		Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop",
		Name:      "web",
	}
	pod := object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: "p"}
	base := func(change func(*observation.Write)) []*observation.Write {
		w := &observation.Write{
			Ref: deployment, Resource: "deployments", Verb: "update", Code: 200, AuditID: "id",
			Start: start.Add(123 * time.Microsecond), End: start.Add(4567 * time.Microsecond),
			UserAgent: "kubectl/v1.36.3 (linux/amd64)", User: "jane", Manager: "kubectl",
		}
		change(w)
		return []*observation.Write{w}
	}
	web := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop",` +
		`"uid":"u1","resourceVersion":"42","generation":3%s},"spec":{"replicas":1}}`
	cases := map[string]struct {
		reason string
		event  string
		want   []*observation.Write
		passed string
	}{
		"Metadata": {
			"without bodies only objectRef identifies the object",
			told(
				"objectRef",
				`{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps",`+
					`"apiVersion":"v1","uid":"u1","resourceVersion":"41"}`,
			),
			base(func(w *observation.Write) { w.UID, w.Precondition = "u1", 41 }),
			"",
		},
		"Answered": {"the response has the stored version", told("responseObject", fmt.Sprintf(web, "")),
			base(func(w *observation.Write) { w.UID, w.ResourceVersion, w.Generation = "u1", 42, 3 }), ""},
		"CreatedUnnamed": {
			"the response has the generated name",
			told(
				"verb",
				`"create"`,
				"objectRef",
				ref("pods", ""),
				"responseStatus",
				`{"code":201}`,
				"requestObject",
				`{"metadata":{"generateName":"p-","uid":"forged"}}`,
				"responseObject",
				`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","uid":"up","resourceVersion":"9"}}`,
			),
			base(func(w *observation.Write) {
				w.Ref, w.UID, w.Resource, w.Verb, w.Code, w.ResourceVersion = pod, "up", "pods", "create", 201, 9
			}),
			"",
		},
		"UnnamedMetadata": {"without bodies a generated name is unknown, and no object is guessed",
			told("verb", `"create"`, "objectRef", ref("pods", ""), "responseStatus", `{"code":201}`), nil, "unnamed"},
		"FieldManager": {
			"the fieldManager parameter is used",
			told(
				"requestURI",
				`"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-client-side-apply&`+
					`fieldValidation=Strict"`,
			),
			base(func(w *observation.Write) { w.Manager = "kubectl-client-side-apply" }),
			"",
		},
		"Impersonated": {"User is the impersonated user, Impersonator the real one", told(
			"impersonatedUser", `{"username":"nobody"}`,
		),
			base(func(w *observation.Write) { w.User, w.Impersonator = "nobody", "jane" }), ""},
		"Conflict": {
			"a refused write has its reason",
			told(
				"responseStatus",
				`{"metadata":{},"status":"Failure","message":"deployments.apps \"web\" already exists",`+
					`"reason":"Conflict","details":{"name":"web"},"code":409}`,
			),
			base(func(w *observation.Write) {
				w.Code, w.Reason, w.Message = 409, "Conflict", `deployments.apps "web" already exists`
			}),
			"",
		},
		"RefusedByQuota": {
			"an object that was not created has its owner as controller",
			told(
				"verb",
				`"create"`,
				"objectRef",
				ref("pods", ""),
				"responseStatus",
				`{"message":"pods \"web-x\" is forbidden: exceeded quota: q, `+
					`requested: pods=1, used: pods=1, limited: pods=1","reason":"Forbidden",`+
					`"details":{"name":"web-x","kind":"pods"},"code":403}`,
				"requestObject",
				`{"kind":"Pod","metadata":{"generateName":"web-","ownerReferences":[{"apiVersion":"apps/v1",`+
					`"kind":"ReplicaSet","name":"web","uid":"ur","controller":true}]}}`,
			),
			base(func(w *observation.Write) {
				w.Ref, w.Name, w.Resource, w.Verb, w.Controller = pod, "web-x", "pods", "create", "ur"
				w.Code, w.Reason = 403, "Forbidden"
				w.Message = `pods "web-x" is forbidden: exceeded quota: q, ` +
					`requested: pods=1, used: pods=1, limited: pods=1`
			}),
			"",
		},
		"Unchanged": {
			"the version is the same: nothing was stored",
			told("requestObject", fmt.Sprintf(web, ""), "responseObject", fmt.Sprintf(web, "")),
			nil,
			"unchanged",
		},
		"DryRun": {
			"",
			told("requestURI", `"/apis/apps/v1/namespaces/shop/deployments/web?dryRun=All"`),
			nil,
			"dry run",
		},
		"DryDeletion": {
			"a deletion may request a dry run in its body",
			told("verb", `"delete"`, "requestObject", `{"kind":"DeleteOptions","dryRun":["All"]}`),
			nil,
			"dry run",
		},
		"Binding": {
			"the object is the Pod; the response lacks its version",
			told(
				"verb",
				`"create"`,
				"objectRef",
				ref("pods", `,"name":"p","uid":"up","subresource":"binding"`),
				"responseStatus",
				`{"code":201}`,
				"responseObject",
				`{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			),
			base(func(w *observation.Write) {
				w.Ref, w.UID, w.Resource, w.Subresource, w.Verb, w.Code = pod, "up", "pods", "binding", "create", 201
			}),
			"",
		},
		"Admitted": {
			"the annotations of admission have the request's trace context",
			told(
				"objectRef",
				`{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps",`+
					`"apiVersion":"v1","uid":"u1"}`,
				"annotations",
				`{"authorization.k8s.io/decision":"allow",`+
					`"observed.webhook.lifeline.dev/request":`+
					`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","x":1,`+
					`"observed.webhook.lifeline.dev/server":`+
					`"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`,
			),
			base(func(w *observation.Write) {
				w.UID, w.TraceParent = "u1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
				w.Server = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
			}),
			"",
		},
		"AdmittedBroken": {
			"an invalid context is dropped",
			told(
				"objectRef",
				`{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps",`+
					`"apiVersion":"v1","uid":"u1"}`,
				"annotations",
				`{"observed.webhook.lifeline.dev/request":"00-zz-01",`+
					`"other.example.com/request":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
			),
			base(func(w *observation.Write) { w.UID = "u1" }),
			"",
		},
		"Eviction": {
			"an eviction is a deletion",
			told(
				"verb",
				`"create"`,
				"objectRef",
				ref("pods", `,"name":"p","subresource":"eviction"`),
				"responseStatus",
				`{"code":201}`,
			),
			base(func(w *observation.Write) {
				w.Ref, w.Resource, w.Subresource, w.Verb, w.Code = pod, "pods", "eviction", "delete", 201
			}),
			"",
		},
		"DeletionStarts": {
			"with a finalizer the object is stored again",
			told(
				"verb",
				`"delete"`,
				"responseObject",
				fmt.Sprintf(
					web,
					`,"deletionTimestamp":"2026-05-04T03:02:01Z","deletionGracePeriodSeconds":0,`+
						`"finalizers":["foregroundDeletion"]`,
				),
			),
			base(func(w *observation.Write) {
				w.Verb, w.UID, w.ResourceVersion, w.Generation = "delete", "u1", 42, 3
			}),
			"",
		},
		"Deleted": {
			"a Status means that the object is gone",
			told(
				"verb",
				`"delete"`,
				"responseObject",
				`{"kind":"Status","status":"Success","details":{"name":"web","uid":"u1"}}`,
			),
			base(func(w *observation.Write) { w.Verb, w.UID, w.Removes = "delete", "u1", true }),
			"",
		},
		"Finalized": {
			"removing the last finalizer removes the object",
			told(
				"verb",
				`"patch"`,
				"responseObject",
				fmt.Sprintf(web, `,"deletionTimestamp":"2026-05-04T03:02:01Z","deletionGracePeriodSeconds":0`),
			),
			base(func(w *observation.Write) { w.Verb, w.UID, w.Removes, w.Generation = "patch", "u1", true, 3 }),
			"",
		},
		"PatchUID": {
			"a kubelet's patch has the Pod's UID",
			told("verb", `"patch"`, "requestObject", `{"metadata":{"uid":"u1"},"status":{}}`),
			base(func(w *observation.Write) { w.Verb, w.UID = "patch", "u1" }),
			"",
		},
		"JSONPatch": {
			"a list of operations is not an object",
			told("verb", `"patch"`, "requestObject", `[{"op":"add","path":"/a","value":1}]`),
			base(func(w *observation.Write) { w.Verb = "patch" }),
			"",
		},
		"Panic": {"a request that panicked has failed", told("stage", `"Panic"`, "responseStatus", `{"code":0}`),
			base(func(w *observation.Write) { w.Code, w.Reason = 500, "Panic" }), ""},
		"Received": {"only the stage with the response is used", told("stage", `"RequestReceived"`), nil, "stage"},
		"Started":  {"", told("stage", `"ResponseStarted"`), nil, "stage"},
		"Read":     {"", told("verb", `"list"`), nil, "read"},
		"Lease": {
			"a Lease is only a heartbeat",
			told("objectRef", `{"resource":"leases","apiGroup":"coordination.k8s.io","apiVersion":"v1","name":"l"}`),
			nil,
			"excluded",
		},
		"Event": {"Events are watched separately", told("objectRef", ref("events", `,"name":"e"`)), nil, "excluded"},
		"Configured": {
			"Exclude has the whole group",
			told("objectRef", `{"resource":"heads","apiGroup":"x.io","apiVersion":"v1","name":"h"}`),
			nil,
			"excluded",
		},
		"Review": {
			"a review is not stored",
			told("objectRef", `{"resource":"tokenreviews","apiGroup":"authentication.k8s.io","apiVersion":"v1"}`),
			nil,
			"not stored",
		},
		"Exec": {
			"an exec is not stored",
			told("verb", `"create"`, "objectRef", ref("pods", `,"name":"p","subresource":"exec"`)),
			nil,
			"not stored",
		},
		"NoObject": {"", told("objectRef", "null"), nil, "not stored"},
		"UnknownKind": {
			"without a kind the object is unknown",
			told("objectRef", `{"resource":"things","apiGroup":"y.io","apiVersion":"v1","name":"h"}`),
			nil,
			"unknown kind",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, newSink(), func(c *Config) { c.Exclude = []schema.GroupResource{{Group: "x.io"}} })
			e, err := decode([]byte(tc.event))
			if err != nil {
				t.Fatal(err)
			}
			got, why := s.writes(e)
			if diff := cmp.Diff(tc.want, got); diff != "" || reasonNames[why] != tc.passed {
				t.Errorf("%s: skipped as %q, want %q; -want +got:\n%s", tc.reason, reasonNames[why], tc.passed, diff)
			}
		})
	}
}

func TestDeletionOfACollection(t *testing.T) {
	s := newSource(t, newSink(), nil)
	event := func(answer string) string {
		return told("verb", `"deletecollection"`, "objectRef", ref("pods", ""), "responseObject", answer)
	}
	e, err := decode(
		[]byte(
			event(
				`{"kind":"PodList","items":[{"metadata":{"name":"a","namespace":"shop","uid":"ua",` +
					`"resourceVersion":"1"}},{"metadata":{"name":"b","uid":"ub"}},{"metadata":{}}]}`,
			),
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := s.writes(e)
	var names []string
	for _, w := range got {
		names = append(names, fmt.Sprintf("%s %s %s %d", w.Ref, w.UID, w.AuditID, w.ResourceVersion))
	}
	if diff := cmp.Diff([]string{"Pod shop/a ua id 0", "Pod shop/b ub id 0"}, names); diff != "" {
		t.Errorf("writes -want +got:\n%s", diff)
	}
	if e, err = decode([]byte(event(""))); err != nil {
		t.Fatal(err)
	}
	if _, why := s.writes(e); why != passedUnnamed {
		t.Errorf("without a response: skipped as %q, want %q", reasonNames[why], reasonNames[passedUnnamed])
	}
}

// TestKinds: an unknown kind is learned from a body or returned by Config.Kind.
func TestKinds(t *testing.T) {
	custom := `{"resource":"things","apiGroup":"y.io","apiVersion":"v1","name":"h"}`
	asked := newSource(t, newSink(), func(c *Config) {
		c.Kind = func(gvr schema.GroupVersionResource) string { return strings.ToUpper(gvr.Resource) }
	})
	learns := newSource(t, newSink(), nil)
	for _, tc := range []struct {
		s           *Source
		event, want string
	}{
		{asked, told("objectRef", custom), "THINGS"},
		{
			learns,
			told(
				"objectRef", custom, "requestObject",
				`{"kind":"Lie","apiVersion":"y.io/v1","metadata":{"name":"h"}}`, "verb", `"patch"`,
				"responseStatus", `{"code":400}`,
			),
			"",
		},
		{
			learns,
			told(
				"objectRef", custom, "requestObject",
				`{"kind":"Thing","apiVersion":"y.io/v1","metadata":{"name":"h"}}`,
			),
			"",
		},
		{learns, told("objectRef", custom), "Thing"},
	} {
		e, err := decode([]byte(tc.event))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := tc.s.writes(e)
		if tc.want != "" && (len(got) != 1 || got[0].Kind.Kind != tc.want) {
			t.Errorf("got %+v, want kind %s", got, tc.want)
		}
	}
}

func TestManager(t *testing.T) {
	cases := map[string]struct{ reason, uri, agent, want string }{
		"Agent": {
			"the user agent up to the first slash, as in the API server", "/x", "kubelet/v1 (linux)",
			"kubelet",
		},
		"Asked":   {"", "/x?fieldManager=a+b", "kubectl/v1", "a b"},
		"Control": {"unprintable characters are removed", "/x", "a\x07b/1", "ab"},
		"Long":    {"", "/x", strings.Repeat("é", 99), strings.Repeat("é", 64)},
		"None":    {"", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := manager(tc.uri, tc.agent); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
