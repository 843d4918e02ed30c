// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is an audit event whose parts can be replaced.
type line struct {
	verb, uri, ref, request, response string
	level, stage                      string
	code                              int
}

func (l line) String() string {
	or := func(s, def string) string {
		if s == "" {
			return def
		}
		return s
	}
	if l.code == 0 {
		l.code = 200
	}
	return fmt.Sprintf(
		`{"level":%q,"auditID":"id","stage":%q,"requestURI":%q,"verb":%q,"user":{"username":"ann"},`+
			`"userAgent":"kubectl/v1","objectRef":%s,"responseStatus":{"code":%d},"requestObject":%s,`+
			`"responseObject":%s,`+
			`"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.100002Z"}`,
		or(l.level, "RequestResponse"),
		or(l.stage, "ResponseComplete"),
		or(l.uri, "/"),
		l.verb,
		or(l.ref, `{"resource":"configmaps","namespace":"ns","name":"a"}`),
		l.code,
		or(l.request, "null"),
		or(
			l.response,
			`{"kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}}`,
		),
	) + "\n"
}

func answered(metadata string) string {
	return `{"kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","uid":"u",` + metadata + `}}`
}

func TestRead(t *testing.T) {
	const pod = `{"resource":"pods","namespace":"ns","name":"p","subresource":"binding"}`
	stored := Write{
		Resource: "configmaps", Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "7", Verb: "create", Code: 200,
		User: "ann", UserAgent: "kubectl/v1", AuditID: "id",
		Received:  time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC),
		Completed: time.Date(2026, 1, 2, 3, 4, 5, 100002000, time.UTC),
	}
	with := func(change func(*Write)) Write {
		w := stored
		change(&w)
		return w
	}
	cases := map[string]struct {
		reason string
		lines  []line
		want   []Write
	}{
		"Create": {
			reason: "A created object is one write, with all that is known of it.",
			lines:  []line{{verb: "create"}},
			want:   []Write{stored},
		},
		"NothingStored": {
			reason: "Reads, failures, early stages, dry runs, reviews, connections and token requests store nothing.",
			lines: []line{
				{verb: "get"},
				{verb: "update", code: 409},
				{verb: "create", stage: "ResponseStarted"},
				{verb: "create", uri: "/api/v1/namespaces/ns/configmaps?dryRun=All"},
				{verb: "delete", request: `{"kind":"DeleteOptions","dryRun":["All"]}`},
				{verb: "create", ref: `{"resource":"subjectaccessreviews","apiGroup":"authorization.k8s.io"}`},
				{verb: "create", ref: `{"resource":"pods","name":"p","subresource":"exec"}`},
				{verb: "create", ref: `{"resource":"serviceaccounts","name":"s","subresource":"token"}`},
			},
		},
		"NoOp": {
			reason: "A patch that leaves the resourceVersion as it was wrote nothing.",
			lines:  []line{{verb: "create"}, {verb: "patch"}},
			want:   []Write{stored},
		},
		"SameVersionOfAnotherObject": {
			reason: "Only versions of one object are compared.",
			lines: []line{
				{verb: "create"},
				{
					verb:     "create",
					response: `{"metadata":{"name":"b","namespace":"ns","uid":"v","resourceVersion":"7"}}`,
				},
			},
			want: []Write{stored, with(func(w *Write) { w.Name, w.UID = "b", "v" })},
		},
		"GeneratedName": {
			reason: "A generated name is known from the answer only.",
			lines:  []line{{verb: "create", ref: `{"resource":"configmaps","namespace":"ns"}`}},
			want:   []Write{stored},
		},
		"Binding": {
			reason: "A binding is answered by a Status; the Pod's UID is known from its creation.",
			lines: []line{
				{
					verb: "create",
					ref:  `{"resource":"pods","namespace":"ns"}`,
					response: `{"metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"7",` +
						`"generation":1}}`,
				},
				{verb: "create", ref: pod, code: 201, response: `{"kind":"Status","status":"Success"}`},
			},
			want: []Write{
				with(func(w *Write) { w.Resource, w.Name, w.Generation = "pods", "p", 1 }),
				with(func(w *Write) {
					w.Resource, w.Name, w.Subresource, w.ResourceVersion, w.Code = "pods", "p", "binding", "", 201
				}),
			},
		},
		"DeleteAtOnce": {
			reason: "A delete that is answered by a Status removed the object.",
			lines:  []line{{verb: "delete", response: `{"kind":"Status","details":{"uid":"u"}}`}},
			want:   []Write{with(func(w *Write) { w.Verb, w.ResourceVersion, w.Removed = "delete", "", true })},
		},
		"DeleteWithFinalizer": {
			reason: "The first delete marks, the second changes nothing, and the patch of the last finalizer removes," +
				" though its answer shows the version that was there.",
			lines: []line{
				{
					verb: "delete",
					response: answered(
						`"resourceVersion":"8","deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"]`,
					),
				},
				{
					verb: "delete",
					response: answered(
						`"resourceVersion":"8","deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"]`,
					),
				},
				{verb: "patch", response: answered(`"resourceVersion":"8","deletionTimestamp":"2026-01-02T03:04:05Z"`)},
			},
			want: []Write{
				with(func(w *Write) { w.Verb, w.ResourceVersion = "delete", "8" }),
				with(func(w *Write) { w.Verb, w.ResourceVersion, w.Removed = "patch", "8", true }),
			},
		},
		"DeleteOfGracefulPod": {
			reason: "With a grace period left the Pod is still there.",
			lines: []line{{verb: "delete", response: answered(
				`"resourceVersion":"8","generation":2,"deletionTimestamp":"2026-01-02T03:04:05Z",` +
					`"deletionGracePeriodSeconds":30`,
			)}},
			want: []Write{with(func(w *Write) { w.Verb, w.ResourceVersion, w.Generation = "delete", "8", 2 })},
		},
		"DeleteOverlapped": {
			reason: "An object without resourceVersion answers a delete that another delete overtook.",
			lines:  []line{{verb: "delete", response: answered(`"generation":2`)}},
		},
		"DeleteCollection": {
			reason: "Each object of the answer was deleted; its version is the one before.",
			lines: []line{{
				verb: "deletecollection", ref: `{"resource":"configmaps","namespace":"ns"}`,
				response: `{"kind":"ConfigMapList","items":[` + answered(`"resourceVersion":"7"`) + `]}`,
			}},
			want: []Write{with(func(w *Write) { w.Verb, w.ResourceVersion = "deletecollection", "" })},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, l := range tc.lines {
				text.WriteString(l.String())
			}
			got, err := read("test", strings.NewReader(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Write{}, "Object")); diff != "" {
				t.Errorf("%s\nRead(): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadDamaged(t *testing.T) {
	good := line{verb: "create"}.String()
	cases := map[string]struct {
		reason  string
		text    string
		want    int
		wantErr string
	}{
		"LastLineIncomplete": {
			reason: "The API server is still writing it.",
			text:   good + good[:40],
			want:   1,
		},
		"MiddleLineDamaged": {
			reason:  "Data was lost, and the reader must know where.",
			text:    good + good[:40] + "\n" + good,
			wantErr: "line 2: ",
		},
		"WithoutAnswer": {
			reason:  "A policy without answers gives no stored object.",
			text:    line{verb: "create", level: "Metadata"}.String(),
			wantErr: "has level Metadata",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Read(file(t, tc.text))
			if tc.wantErr == "" && (err != nil || len(got) != tc.want) {
				t.Errorf("%s\nRead(): %d writes, %v; want %d", tc.reason, len(got), err, tc.want)
			}
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("%s\nRead(): %v; want %q", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	text := line{verb: "create"}.String()
	parts := []string{text[:100], text[100:] + line{verb: "get"}.String(), line{
		verb: "update", response: answered(`"resourceVersion":"9"`),
	}.String()}

	wrote := make(chan error, 1)
	go func() {
		f, err := os.Create(path)
		for _, part := range parts {
			if err == nil {
				_, err = f.WriteString(part)
			}
		}
		f.Close()
		wrote <- err
	}()
	var got []string
	for w, err := range Follow(ctx, path) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, w.ResourceVersion); len(got) == 2 {
			break
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"7", "9"}, got); diff != "" {
		t.Errorf("Follow(): -want +got:\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(line{verb: "create"}.String())
	f.Add(line{verb: "deletecollection", response: `{"items":[{}]}`}.String())
	f.Fuzz(func(t *testing.T, text string) {
		writes, err := read("test", strings.NewReader(text))
		if err != nil && !strings.Contains(err.Error(), ", line ") {
			t.Errorf("Read(%q): %v names no line", text, err)
		}
		for _, w := range writes {
			if w.Verb == "" {
				t.Errorf("Read(%q): a write without verb: %+v", text, w)
			}
		}
	})
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
