// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const deploymentPath = "/apis/apps/v1/namespaces/shop/deployments"

// sketch returns a Deployment's JSON with this resourceVersion.
func sketch(version int, more string) string {
	return fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop",`+
			`"uid":"u1","resourceVersion":"%d","generation":2%s}}`,
		version,
		more,
	)
}

// sent is one request of the command and the server's response.
type sent struct {
	method, path, contentType, body string
	code                            int
	answer                          string
}

func TestWrites(t *testing.T) {
	deployment := object.Ref{
		Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop",
		Name:      "web",
		UID:       "u1",
	}
	cm := func(name string) object.Ref {
		return object.Ref{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Namespace: "shop", Name: name}
	}
	list := `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"70"},` +
		`"items":[{"metadata":{"name":"a","uid":"ua","resourceVersion":"3"}},` +
		`{"metadata":{"name":"b","uid":"ub","resourceVersion":"4"}}]}`
	a, b := cm("a"), cm("b")
	a.UID, b.UID = "ua", "ub"
	pod := object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: "p"}
	failed := deployment
	failed.UID = ""
	cases := map[string]struct {
		reason    string
		requests  []sent
		want      []*observation.Write
		since     []uint64
		unchanged int64
	}{
		"Create": {
			reason:   "the response has the stored version",
			requests: []sent{{"POST", deploymentPath, asJSON, sketch(0, ""), 201, sketch(42, "")}},
			want: []*observation.Write{
				{
					Ref:             deployment,
					Resource:        "deployments",
					Verb:            "create",
					ResourceVersion: 42,
					Generation:      2,
					Code:            201,
				},
			},
			since: []uint64{41},
		},
		"ChangeAfterRead": {
			reason: "the response has a newer version than the read",
			requests: []sent{
				{"GET", deploymentPath + "/web", "", "", 200, sketch(42, "")},
				{"PATCH", deploymentPath + "/web", "application/merge-patch+json", "{}", 200, sketch(43, "")},
			},
			want: []*observation.Write{
				{
					Ref:             deployment,
					Resource:        "deployments",
					Verb:            "patch",
					ResourceVersion: 43,
					Generation:      2,
					Code:            200,
				},
			},
			since: []uint64{42},
		},
		"NoChangeAfterRead": {
			reason: "the response has the version of the read: nothing was stored",
			requests: []sent{
				{"GET", deploymentPath + "/web", "", "", 200, sketch(42, "")},
				{"PATCH", deploymentPath + "/web", "application/merge-patch+json", "{}", 200, sketch(42, "")},
			},
			unchanged: 1,
		},
		"NoChangeWithoutRead": {
			reason: "server-side apply reads nothing first: the proxy lists before the write",
			requests: []sent{
				{"PATCH", deploymentPath + "/web", "application/apply-patch+yaml", "{}", 200, sketch(42, "")},
			},
			unchanged: 1,
		},
		"AppliedNew": {
			reason: "status 201 means that the apply created the object",
			requests: []sent{
				{"PATCH", deploymentPath + "/web", "application/apply-patch+yaml", "{}", 201, sketch(90, "")},
			},
			want: []*observation.Write{
				{
					Ref:             deployment,
					Resource:        "deployments",
					Verb:            "apply",
					ResourceVersion: 90,
					Generation:      2,
					Code:            201,
				},
			},
			since: []uint64{89},
		},
		"DeletedAtOnce": {
			reason: "a Status has only the UID; the list before the write has the version to watch from",
			requests: []sent{
				{
					"DELETE",
					"/api/v1/namespaces/shop/configmaps/a",
					asJSON,
					"{}",
					200,
					`{"kind":"Status","apiVersion":"v1","status":"Success",` +
						`"details":{"name":"a","kind":"configmaps","uid":"ua"}}`,
				},
			},
			want:  []*observation.Write{{Ref: a, Resource: "configmaps", Verb: "delete", Code: 200}},
			since: []uint64{77},
		},
		"DeletionStarts": {
			reason: "a graceful deletion stores the object again",
			requests: []sent{
				{
					"DELETE",
					deploymentPath + "/web",
					asJSON,
					"{}",
					200,
					sketch(99, `,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"]`),
				},
			},
			want: []*observation.Write{
				{
					Ref:             deployment,
					Resource:        "deployments",
					Verb:            "delete",
					ResourceVersion: 99,
					Generation:      2,
					Code:            200,
				},
			},
			since: []uint64{98},
		},
		"DeletionGoesOn": {
			reason: "the object was already being deleted",
			requests: []sent{
				{
					"DELETE",
					deploymentPath + "/web",
					asJSON,
					"{}",
					200,
					sketch(60, `,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"]`),
				},
			},
			unchanged: 1,
		},
		"DryRunInTheBody": {
			reason:   "a dry run stores nothing",
			requests: []sent{{"DELETE", deploymentPath + "/web", asJSON, `{"dryRun":["All"]}`, 200, sketch(42, "")}},
		},
		"DeleteCollection": {
			reason:   "each object in the response gives one write",
			requests: []sent{{"DELETE", "/api/v1/namespaces/shop/configmaps", asJSON, "{}", 200, list}},
			want: []*observation.Write{
				{Ref: a, Resource: "configmaps", Verb: "deletecollection", Code: 200},
				{Ref: b, Resource: "configmaps", Verb: "deletecollection", Code: 200},
			},
			since: []uint64{77, 77},
		},
		"Eviction": {
			reason: "the write's object is the Pod",
			requests: []sent{
				{
					"POST",
					"/api/v1/namespaces/shop/pods/p/eviction",
					asJSON,
					"{}",
					201,
					`{"kind":"Status","apiVersion":"v1","status":"Success"}`,
				},
			},
			want: []*observation.Write{
				{Ref: pod, Resource: "pods", Subresource: "eviction", Verb: "delete", Code: 201},
			},
			since: []uint64{77},
		},
		"Refused": {
			reason: "only the request has the name of a refused create",
			requests: []sent{
				{
					"POST",
					deploymentPath,
					asJSON,
					sketch(0, ""),
					403,
					`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden",` +
						`"message":"limit is 7","details":{"kind":"deployments"},"code":403}`,
				},
			},
			want: []*observation.Write{
				{
					Ref:      failed,
					Resource: "deployments",
					Verb:     "create",
					Code:     403,
					Reason:   "Forbidden",
					Message:  "limit is 7",
				},
			},
		},
		"CustomResource": {
			reason: "an unknown kind is looked up once",
			requests: []sent{
				{
					"POST",
					"/apis/x.io/v1/namespaces/shop/heads",
					asJSON,
					`{"metadata":{"name":"h"}}`,
					409,
					`{"kind":"Status","apiVersion":"v1","reason":"AlreadyExists",` +
						`"message":"heads.x.io \"h\" already exists"}`,
				},
			},
			want: []*observation.Write{
				{
					Ref: object.Ref{
						Kind:      object.Kind{Group: "x.io", Version: "v1", Kind: "Head"},
						Namespace: "shop",
						Name:      "h",
					},
					Resource: "heads",
					Verb:     "create",
					Code:     409,
					Reason:   "AlreadyExists",
					Message:  `heads.x.io "h" already exists`,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var step atomic.Int32
			h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", asJSON)
				w.Header().Set("Audit-Id", "audit")
				switch { // requests of the proxy itself
				case r.URL.Query().Get("limit") == "1":
					_, _ = io.WriteString(
						w,
						`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",`+
							`"metadata":{"resourceVersion":"77"},"items":[]}`,
					)
					return
				case r.URL.Path == "/apis/x.io/v1":
					_, _ = io.WriteString(
						w,
						`{"kind":"APIResourceList","resources":[`+
							`{"name":"heads","kind":"Head"},{"name":"heads/status","kind":"Head"}]}`,
					)
					return
				}
				q := tc.requests[step.Load()]
				w.WriteHeader(q.code)
				_, _ = io.WriteString(w, q.answer)
			})
			client := h.client(t, "")
			for _, q := range tc.requests {
				req, err := http.NewRequest(q.method, h.server.URL+q.path, strings.NewReader(q.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", q.contentType)
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || string(body) != q.answer {
					t.Errorf("the proxy changed the response: %q, %v", body, err)
				}
				_ = resp.Body.Close()
				step.Add(1)
			}
			got := h.writes()
			ignore := cmpopts.IgnoreFields(observation.Write{}, "Start", "End", "AuditID", "UserAgent", "TraceParent")
			if diff := cmp.Diff(tc.want, got, ignore); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			seen := map[string]bool{}
			for _, w := range got {
				if w.AuditID != "audit" || w.End.Before(w.Start) || time.Since(w.Start) > time.Minute {
					t.Errorf("audit ID %q, from %s to %s", w.AuditID, w.Start, w.End)
				}
				if !strings.HasPrefix(w.TraceParent, "00-"+theTrace.TraceID().String()+"-") || seen[w.TraceParent] {
					t.Errorf("traceparent %q is not a new span in the run's trace", w.TraceParent)
				}
				seen[w.TraceParent] = true
			}
			var since []uint64
			for _, w := range h.wrote {
				since = append(since, w.Since)
			}
			if diff := cmp.Diff(tc.since, since); diff != "" {
				t.Errorf("since -want +got:\n%s", diff)
			}
			if h.Unchanged() != tc.unchanged {
				t.Errorf("unchanged: got %d, want %d", h.Unchanged(), tc.unchanged)
			}
		})
	}
}

func TestTraceContextOnWrites(t *testing.T) {
	ours := "00-" + theTrace.TraceID().String() + "-"
	run := "lifeline=" + ours + theTrace.SpanID().String() + "-01"
	same := ours + "00000000000000aa-01"
	other := "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00000000000000aa-01"
	cases := map[string]struct {
		reason  string
		sent    map[string]string
		parent  string // a prefix
		known   string // a prefix
		state   string
		baggage string // a prefix
	}{
		"None": {"a write gets its own span", nil, ours, ours, "", run},
		"SameTrace": {
			"an instrumented command's traceparent stays",
			map[string]string{"traceparent": same, "tracestate": "a=b"},
			same,
			same,
			"a=b",
			run,
		},
		"OtherTrace": {
			"another trace stays too; the write has a context in the run's trace",
			map[string]string{"traceparent": other, "tracestate": "a=b"},
			other,
			ours,
			"a=b",
			run,
		},
		"Baggage": {
			"the run's member comes after the command's",
			map[string]string{"baggage": "k=v"},
			ours,
			ours,
			"",
			"k=v, " + run,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Clone()
				w.Header().Set("Content-Type", asJSON)
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, sketch(42, ""))
			})
			req, err := http.NewRequest(http.MethodPost, h.server.URL+deploymentPath, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tc.sent {
				req.Header.Set(k, v)
			}
			resp, err := h.client(t, "").Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			for what, pair := range map[string][2]string{
				"traceparent": {tc.parent, got.Get("traceparent")},
				"known as":    {tc.known, h.writes()[0].TraceParent},
				"baggage":     {tc.baggage, strings.Join(got.Values("baggage"), ", ")},
			} {
				if !strings.HasPrefix(pair[1], pair[0]) {
					t.Errorf("%s: %s %q, want %q…", tc.reason, what, pair[1], pair[0])
				}
			}
			if got.Get("tracestate") != tc.state {
				t.Errorf("tracestate %q, want %q", got.Get("tracestate"), tc.state)
			}
		})
	}
}
