// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// installed is the part of manifests that options change.
type installed struct {
	namespaces, claims  []string
	image, retention    string
	discovery           string
	mode, webhook, kept string
	replicas            int32
}

func read(t *testing.T, o Options) (out installed) {
	t.Helper()
	objects, err := Manifests(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(objects)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	add := func(namespace string) {
		if namespace != "" && !seen[namespace] {
			seen[namespace] = true
			out.namespaces = append(out.namespaces, namespace)
		}
	}
	for doc := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var meta metav1.PartialObjectMetadata
		into := func(object any) {
			if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
				t.Fatalf("%v:\n%s", err, doc)
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Namespace != "kube-system" {
			add(meta.Namespace)
		}
		switch meta.Kind {
		case "Namespace":
			add(meta.Name)
		case "ClusterRoleBinding":
			var b rbacv1.ClusterRoleBinding
			into(&b)
			add(b.Subjects[0].Namespace)
		case "APIService":
			var a struct {
				metav1.PartialObjectMetadata `json:",inline"`
				Spec                         struct {
					Group, Version                        string
					GroupPriorityMinimum, VersionPriority int
					Service                               struct {
						Name, Namespace string
						Port            int
					}
				}
			}
			into(&a)
			add(a.Spec.Service.Namespace)
		case "Deployment":
			var d appsv1.Deployment
			into(&d)
			c := d.Spec.Template.Spec.Containers[0]
			out.discovery = strings.Join(append([]string{c.Image}, c.Args[1:3]...), " ")
		case "ConfigMap":
			var m corev1.ConfigMap
			into(&m)
			c, err := config.Parse([]byte(m.Data["config.yaml"]))
			if err != nil {
				t.Fatal(err)
			}
			out.retention, out.mode = c.Retention.Size.String(), c.Replicas.Mode
			out.webhook = strings.Join(c.Webhook.Certificate.Names, ",")
		case "StatefulSet":
			var s appsv1.StatefulSet
			into(&s)
			out.image, out.replicas = s.Spec.Template.Spec.Containers[0].Image, *s.Spec.Replicas
			for _, c := range s.Spec.VolumeClaimTemplates {
				size := c.Spec.Resources.Requests[corev1.ResourceStorage]
				out.claims = append(out.claims, size.String())
				if c.Spec.StorageClassName != nil {
					out.claims = append(out.claims, *c.Spec.StorageClassName)
				}
			}
			for _, v := range s.Spec.Template.Spec.Volumes {
				if v.EmptyDir != nil {
					out.kept = v.Name
				}
			}
		}
	}
	return out
}

// discoveryIn are the image and the names of lifeline discovery in a namespace.
func discoveryIn(namespace string) string {
	return "x:1 --server-name=lifeline-api." + namespace + ".svc --name=lifeline-discovery." + namespace + ".svc"
}

// TestManifests: each option changes its fields, and no other.
func TestManifests(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		o      Options
		want   installed
	}{
		"usual": {"", Options{Namespace: "lifeline", Image: "x:1", Replicas: 1}, installed{
			namespaces: []string{"lifeline"}, image: "x:1", claims: []string{"10Gi"}, retention: "8Gi", mode: "single",
			replicas: 1, discovery: discoveryIn("lifeline"),
		}},
		"elsewhere": {
			"bindings and the certificate have the namespace", Options{
				Namespace: "tracing", Image: "x:1", Replicas: 2, Webhook: true, Storage: "12Gi", StorageClass: "fast",
			}, installed{
				namespaces: []string{"tracing"}, image: "x:1", claims: []string{"12Gi", "fast"}, retention: "9830Mi",
				mode: "standby", webhook: "lifeline-webhook.tracing.svc", replicas: 2,
				discovery: discoveryIn("tracing"),
			},
		},
		"no storage": {"", Options{Namespace: "lifeline", Image: "x:1", Replicas: 1, Storage: NoStorage}, installed{
			namespaces: []string{"lifeline"}, image: "x:1", retention: "8Gi", mode: "single", kept: "data", replicas: 1,
			discovery: discoveryIn("lifeline"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.o.Validate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, read(t, tc.o), cmp.AllowUnexported(installed{})); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": Repository + ":0.1.0", "1.2.3": Repository + ":1.2.3", "v0.2.0-rc.1": Repository + ":0.2.0-rc.1",
		"devel": "", "v0.1.0-3-gad00795": "", "v0.1.0-dirty": "", "ad00795": "",
	} {
		if got, err := Image(version); got != want || (err == nil) != (want != "") {
			t.Errorf("Image(%q) = %q, %v, want %q", version, got, err, want)
		}
	}
}

// TestRemove: a conflict names a field, and exactly this field is removed.
func TestRemove(t *testing.T) {
	const before = `{"data":{"config.yaml":"x","config":"y"},"spec":{"replicas":1,"list":[` +
		`{"name":"a","image":"1","env":[]},` +
		`{"name":"b","image":"2","ports":[{"containerPort":1,"protocol":"TCP","name":"p"}]}]}}`
	for path, want := range map[string]string{
		".data.config.yaml":          strings.Replace(before, `"config.yaml":"x",`, "", 1),
		".data.config":               strings.Replace(before, `,"config":"y"`, "", 1),
		".spec.replicas":             strings.Replace(before, `"replicas":1,`, "", 1),
		`.spec.list[name="b"].image`: strings.Replace(before, `,"image":"2"`, "", 1),
		`.spec.list[name="c"].image`: "",
		`.spec.list[name="b"].ports[containerPort=1,protocol="TCP"].name`: strings.Replace(
			before, `,"name":"p"`, "", 1),
		".spec.none": "",
		".spec.list": `{"data":{"config.yaml":"x","config":"y"},"spec":{"replicas":1}}`,
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(before), &object); err != nil {
			t.Fatal(err)
		}
		err := remove(object, path)
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v", path, err)
		}
		if want == "" {
			want = before
		}
		var wanted map[string]any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, object); diff != "" {
			t.Errorf("%s: -want +got:\n%s", path, diff)
		}
	}
}

// TestConflicts: only conflicts between field managers count.
func TestConflicts(t *testing.T) {
	theirs := metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas"}
	err := apierrors.NewApplyConflict([]metav1.StatusCause{theirs, {Type: metav1.CauseTypeFieldValueInvalid}}, "x")
	if diff := cmp.Diff([]metav1.StatusCause{theirs}, conflicts(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := conflicts(apierrors.NewBadRequest("x")); got != nil {
		t.Errorf("got %v of another error", got)
	}
}

// TestReady: the answer of a ready server is printed; a server that never gets ready is an error with its answer.
func TestReady(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked < 3 || r.URL.Path == "/never" {
			http.Error(w, "watches: not yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok watches\n"))
	}))
	defer server.Close()
	var out strings.Builder
	c := Ready{URL: server.URL, Within: time.Minute, Every: time.Millisecond, Out: &out}
	if code, err := c.Run(t.Context()); code != 0 || err != nil || out.String() != "ok watches\n" {
		t.Errorf("%d, %v: %q", code, err, &out)
	}
	c.URL, c.Within = server.URL+"/never", time.Millisecond
	if code, err := c.Run(t.Context()); code != 1 || err == nil {
		t.Errorf("%d, %v, want an error", code, err)
	}
}
