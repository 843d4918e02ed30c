// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/webhook"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/decision"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	server = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01"
)

// body returns a review of a write of a Service.
func body(operation, annotations string, more ...string) string {
	return fmt.Sprintf(
		`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "call-1", "operation": %q,
		"kind": {"group": "", "version": "v1", "kind": "Service"}, "name": "web", "namespace": "demo",
		"userInfo": {"username": "ann"},
		"object": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"%s},
		"spec": {"ports": [{"port": 80}]}}%s}}`,
		operation,
		annotations,
		strings.Join(more, ""),
	)
}

func decider() *decision.Decider {
	return decision.New(decision.Options{Trusts: func(u decision.User) bool { return u.Name != "mallory" }})
}

// post sends a body like the API server.
func post(t testing.TB, w http.Handler, text string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, webhook.Path, strings.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	w.ServeHTTP(out, r)
	return out
}

// answered decodes the response like the API server.
func answered(t testing.TB, out *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(out.Body.Bytes(), &review); err != nil || out.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", out.Code, err, out.Body)
	}
	r := review.Response
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || r == nil ||
		r.UID != "call-1" ||
		!r.Allowed {
		t.Fatalf("the response is not a valid AdmissionReview: %s", out.Body)
	}
	return r
}

// paths returns the operations and paths of a patch with their values.
func paths(t testing.TB, r *admissionv1.AdmissionResponse) map[string]string {
	t.Helper()
	if r.Patch == nil {
		return nil
	}
	if r.PatchType == nil || *r.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("the patch has type %v, want JSONPatch", r.PatchType)
	}
	var ops []map[string]any
	if err := json.Unmarshal(r.Patch, &ops); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range ops {
		value, present := o["value"]
		if present == (o["op"] == "remove") {
			t.Errorf("operation %v: want a value unless it is remove", o)
		}
		out[fmt.Sprint(o["op"], " ", o["path"])] = fmt.Sprint(value)
	}
	return out
}

const (
	contextPath = "add /metadata/annotations/trace.kubernetes.io~1context"
	statePath   = "add /metadata/annotations/trace.kubernetes.io~1tracestate"
)

func TestReviews(t *testing.T) {
	was := `, "oldObject": {"apiVersion": "v1", "kind": "Service", ` +
		`"metadata": {"name": "web", "uid": "u", "generation": 1}, "spec": {"ports": [{"port": 80}]}}`
	for name, c := range map[string]struct {
		body   string
		header []string
		// given is whether the object gets a new context; trace is its trace, evidence its
		// evidence.
		given    bool
		trace    string
		evidence span.Evidence
		// bare is whether the object has no annotations yet.
		bare bool
		// request and server are the expected audit annotations for the request itself.
		request, server string
	}{
		"create":            {body: body("CREATE", ""), given: true, bare: true},
		"create, annotated": {body: body("CREATE", `, "annotations": {"a": "b"}`), given: true},
		"baggage": {
			body:     body("CREATE", ""),
			header:   []string{"Baggage", "x=y,lifeline=" + caller, "Traceparent", server},
			given:    true,
			bare:     true,
			trace:    caller[3:35],
			evidence: span.ByRequest,
			request:  caller,
			server:   server,
		},
		"header": {
			body:     body("CREATE", ""),
			header:   []string{"Traceparent", server},
			given:    true,
			bare:     true,
			trace:    server[3:35],
			evidence: span.ByRequest,
			request:  server,
		},
		"header, malformed": {
			body:   body("CREATE", ""),
			header: []string{"Traceparent", "00-xx", "Baggage", "lifeline=zz,,"},
			given:  true,
			bare:   true,
		},
		"update of nothing": {body: body("UPDATE", "", was)},
		"update": {
			body:  strings.Replace(body("UPDATE", "", was), `"port": 80`, `"port": 81`, 1),
			given: true,
			bare:  true,
		},
		"update, nothing before": {body: body("UPDATE", "")},
		"delete":                 {body: body("DELETE", "", was)},
		"delete, traced": {
			body:    body("DELETE", "", was),
			header:  []string{"Baggage", "lifeline=" + caller},
			request: caller,
		},
		"delete, both traced": {
			body:    body("DELETE", "", was),
			header:  []string{"Baggage", "lifeline=" + caller, "Traceparent", server},
			request: caller,
			server:  server,
		},
		"connect": {body: body("CONNECT", "")},
		"dry run": {body: body("CREATE", "", `, "dryRun": true`)},
		"an object that is a list": {
			body: strings.Replace(
				body("CREATE", ""), `{"apiVersion": "v1", "kind": "Service"`, `[1], "else": {"x": "y"`, 1,
			),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
			r := answered(t, post(t, w, c.body, c.header...))
			ops := paths(t, r)
			if !c.given {
				if ops != nil || r.AuditAnnotations[auditRequest] != c.request ||
					r.AuditAnnotations[auditServer] != c.server ||
					c.request == "" && r.AuditAnnotations != nil {
					t.Fatalf(
						"patch %v, audit annotations %v; want none but request %q and server %q",
						ops,
						r.AuditAnnotations,
						c.request,
						c.server,
					)
				}
				return
			}
			if _, made := ops["add /metadata/annotations"]; made != c.bare || ops[contextPath] == "" ||
				ops[statePath] == "" {
				t.Fatalf("patch %v", ops)
			}
			if c.trace != "" && ops[contextPath][3:35] != c.trace {
				t.Errorf("the new context is %s, want one in trace %s", ops[contextPath], c.trace)
			}
			want := map[string]string{auditContext: ops[contextPath]}
			if c.evidence != "" {
				want[auditEvidence] = string(c.evidence)
			}
			if c.request != "" {
				want[auditRequest] = c.request
			}
			if c.server != "" {
				want[auditServer] = c.server
			}
			if diff := cmp.Diff(want, r.AuditAnnotations); diff != "" {
				t.Errorf("audit annotations: -want +got:\n%s", diff)
			}
			if st := w.Stats(); st != (Stats{Reviews: 1, Given: 1}) {
				t.Errorf("Stats is %+v", st)
			}
		})
	}
}

// TestRefusedContext: an untrusted writer's context is replaced, and the audit annotations have the
// refused one.
func TestRefusedContext(t *testing.T) {
	w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
	text := strings.Replace(
		body("CREATE", `, "annotations": {"`+lifeline.ContextKey+`": "`+caller+`"}`),
		`"ann"`,
		`"mallory"`,
		1,
	)
	r := answered(t, post(t, w, text))
	if ops := paths(t, r); r.AuditAnnotations[auditRefused] != caller || ops[contextPath] == "" ||
		strings.Contains(ops[contextPath], caller[3:35]) {
		t.Errorf("patch %v, audit annotations %v", ops, r.AuditAnnotations)
	}
	if st := w.Stats(); st != (Stats{Reviews: 1, Given: 1, Refused: 1}) {
		t.Errorf("Stats is %+v", st)
	}
}

// TestNoReview: an invalid request gets an error and changes nothing.
func TestNoReview(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		header []string
		code   int
	}{
		"nothing":      {body: "", code: http.StatusBadRequest},
		"no JSON":      {body: "<xml>", code: http.StatusBadRequest},
		"another kind": {body: `{"apiVersion": "v1", "kind": "Pod"}`, code: http.StatusBadRequest},
		"another version": {
			body: strings.Replace(body("CREATE", ""), "k8s.io/v1", "k8s.io/v1beta1", 1),
			code: http.StatusBadRequest,
		},
		"no request": {
			body: `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`,
			code: http.StatusBadRequest,
		},
		"no uid": {body: strings.Replace(body("CREATE", ""), "call-1", "", 1), code: http.StatusBadRequest},
		"too large": {
			body: body("CREATE", "", `, "x": "`+strings.Repeat("x", maxBody)+`"`),
			code: http.StatusRequestEntityTooLarge,
		},
		"a form": {
			body:   "a=b",
			header: []string{"Content-Type", "application/x-www-form-urlencoded"},
			code:   http.StatusUnsupportedMediaType,
		},
		"no type": {
			body:   body("CREATE", ""),
			header: []string{"Content-Type", ""},
			code:   http.StatusUnsupportedMediaType,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
			out := post(t, w, c.body, c.header...)
			if out.Code != c.code || strings.TrimSpace(out.Body.String()) == "" {
				t.Errorf("status %d, want %d: %s", out.Code, c.code, out.Body)
			}
			if st := w.Stats(); st != (Stats{Malformed: 1}) {
				t.Errorf("Stats is %+v", st)
			}
		})
	}
	w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
	out := httptest.NewRecorder()
	w.ServeHTTP(out, httptest.NewRequest(http.MethodGet, webhook.Path, nil))
	if out.Code != http.StatusMethodNotAllowed || out.Header().Get("Allow") != http.MethodPost {
		t.Errorf("GET: %d, %v", out.Code, out.Header())
	}
}

// TestFaultOfItsOwn: after a panic the write is admitted without a context.
func TestFaultOfItsOwn(t *testing.T) {
	var got []any
	w := New(Options{
		Decide: func(*decision.Request, time.Time) decision.Answer { panic("a bug") },
		Now:    func() time.Time { return now },
		Failed: func(v any, stack []byte) { got = append(got, v, string(stack)) },
	})
	for range 2 { // the webhook continues after a panic
		if r := answered(t, post(t, w, body("CREATE", ""))); r.Patch != nil {
			t.Errorf("patch %s", r.Patch)
		}
	}
	if st := w.Stats(); st != (Stats{Reviews: 2, Failed: 2}) || len(got) != 4 || got[0] != "a bug" ||
		!strings.Contains(fmt.Sprint(got[1]), "TestFaultOfItsOwn") {
		t.Errorf("Stats is %+v, Failed got %v", st, got)
	}
}

// TestManyAtOnce: concurrent calls all get a context.
func TestManyAtOnce(t *testing.T) {
	w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if out := post(t, w, body("CREATE", "")); out.Code != http.StatusOK {
				t.Errorf("status %d", out.Code)
			}
		})
	}
	all.Wait()
	if st := w.Stats(); st.Given != 20 {
		t.Errorf("Stats is %+v", st)
	}
}

// FuzzReview sends arbitrary reviews: each is admitted or refused with a reason.
func FuzzReview(f *testing.F) {
	f.Add([]byte(body("CREATE", `, "annotations": {"a": "b"}`)), caller, "lifeline="+caller)
	f.Add([]byte(body("UPDATE", "", `, "oldObject": {"metadata": {"annotations": {"a/b~c": "d"}}}`)), "", "")
	f.Add(
		[]byte(
			`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": `+
				`{"uid": "u", "operation": "CREATE", "object": {"metadata": {"annotations": null}}}}`,
		),
		"",
		"",
	)
	f.Fuzz(func(t *testing.T, text []byte, traceparent, bag string) {
		failed := false
		w := New(Options{
			Decide: decider().Decide,
			Now:    func() time.Time { return now },
			Failed: func(any, []byte) { failed = true },
		})
		out := post(t, w, string(text), "Traceparent", traceparent, "Baggage", bag)
		if failed {
			t.Error("the review caused a panic")
		}
		answer, err := io.ReadAll(out.Body)
		if err != nil {
			t.Fatal(err)
		}
		if out.Code != http.StatusOK {
			if out.Code != http.StatusBadRequest || len(answer) == 0 {
				t.Errorf("status %d: %s", out.Code, answer)
			}
			return
		}
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil || !review.Response.Allowed ||
			review.Response.UID == "" {
			t.Errorf("%v: %s", err, answer)
		}
	})
}

// BenchmarkReview measures one review of a Service's creation, with decision and response.
func BenchmarkReview(b *testing.B) {
	w := New(Options{Decide: decider().Decide, Now: func() time.Time { return now }})
	text := body("CREATE", `, "annotations": {"a": "`+strings.Repeat("x", 2000)+`"}`)
	b.ReportAllocs()
	for b.Loop() {
		if out := post(b, w, text, "Baggage", "lifeline="+caller); out.Code != http.StatusOK {
			b.Fatal(out.Code)
		}
	}
}
