// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/app/internal/webhook"
)

// asked is a webhook that admits everything and records its requests, except those of the control
// plane.
type asked struct {
	url   string
	ca    []byte
	calls chan string
}

func listen(t *testing.T) *asked {
	t.Helper()
	cert, key := certificate(t)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{ca: cert, calls: make(chan string, 10000)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil || r.URL.Path != webhook.Path || review.Request == nil {
			t.Errorf("asked at %s: %v: %s", r.URL, err, body)
			return
		}
		resource := schema.GroupResource{Group: review.Request.Resource.Group,
			Resource: review.Request.Resource.Resource}.String()
		if review.Request.SubResource != "" {
			resource += "/" + review.Request.SubResource
		}
		name := review.Request.Name
		if name == "" {
			name = review.Request.Namespace
		}
		if !strings.HasPrefix(review.Request.UserInfo.Username, "system:serviceaccount:kube-system:") {
			a.calls <- fmt.Sprintf("%s %s %s", review.Request.Operation, resource, name)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	a.url = "https://localhost:" + server.URL[len("https://127.0.0.1:"):] + webhook.Path
	return a
}

// marked returns the sorted calls before that for the named ConfigMap. A new ConfigMap thus
// separates the calls of each test case.
func (a *asked) marked(t *testing.T, name string) []string {
	t.Helper()
	var calls []string
	deadline := time.After(20 * time.Second)
	for {
		select {
		case call := <-a.calls:
			if call == "CREATE configmaps "+name {
				slices.Sort(calls)
				return calls
			}
			calls = append(calls, call)
		case <-deadline:
			t.Fatalf("%s is not asked about; %q are", name, calls)
		}
	}
}

// TestWhatIsAsked compares the rules and conditions with the requests of a real API server, that of
// KUBECONFIG. It needs a cluster for itself: LIFELINE_WEBHOOK_CLUSTER=1.
func TestWhatIsAsked(t *testing.T) {
	if os.Getenv("LIFELINE_WEBHOOK_CLUSTER") == "" {
		t.Skip("LIFELINE_WEBHOOK_CLUSTER is not set: this installs a webhook in the cluster of KUBECONFIG")
	}
	conf, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	conf.QPS, conf.Burst = 500, 500
	client, end, err := connect(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	ctx := t.Context()
	a := listen(t)
	namespace := "asked-" + fmt.Sprint(time.Now().Unix())
	for _, name := range []string{namespace, namespace + "-not"} {
		if _, err := client.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
		})
	}
	install := &Install{REST: conf, Out: io.Discard, Options: Options{
		Name: "lifeline-asked", Namespace: "lifeline", URL: a.url, CA: a.ca, Observe: true, ExcludeNamespaces: []string{
			namespace + "-not",
		},
		Exclude: []schema.GroupResource{{Group: "networking.k8s.io"}, {Resource: "limitranges"}},
	}}
	uninstall := &Uninstall{Name: "lifeline-asked", REST: conf, Out: io.Discard}
	t.Cleanup(func() {
		uninstall.REST = rest.CopyConfig(conf)
		if code, err := uninstall.Run(context.Background()); code != 0 || err != nil {
			t.Error(code, err)
		}
	})
	if code, err := install.Run(ctx); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	lengthenTimeout(t, client, install.Name)
	maps := client.CoreV1().ConfigMaps(namespace)
	await(t, a, func(name string) error {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	})
	marks := 0
	for name, tc := range asking(client, conf, namespace) {
		mark := fmt.Sprintf("mark-%d", marks)
		if err := tc.do(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: mark}},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := slices.CompactFunc(a.marked(t, mark), isRepetition)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: asked %q, want %q", name, got, tc.want)
		}
		marks++
	}
}

// isRepetition reports whether two calls may be about one update. The API server begins an update with the version
// in its cache, or with that before a write of a controller. If that is an old one, it begins again, and asks again.
func isRepetition(a, b string) bool { return a == b && strings.HasPrefix(a, "UPDATE ") }

// lengthenTimeout sets the webhook's timeout to 30 s. On a busy machine, the API server else goes on after a
// second, and the call arrives in a later test case or not at all.
func lengthenTimeout(t *testing.T, client *kubernetes.Clientset, name string) {
	t.Helper()
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Webhooks {
		c.Webhooks[i].TimeoutSeconds = ptr(int32(30))
	}
	if _, err := configurations.Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// await waits until the API server calls: it applies a configuration after a delay.
func await(t *testing.T, a *asked, write func(name string) error) {
	t.Helper()
	for i := range 200 {
		if err := write(fmt.Sprintf("begin-%d", i)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-a.calls:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("nothing is asked")
}

type ask struct {
	do   func(context.Context) error
	want []string
}

// asking yields writes and their expected requests, in order of execution.
func asking(client *kubernetes.Clientset, conf *rest.Config, namespace string) func(func(string, ask) bool) {
	create, update, remove := metav1.CreateOptions{}, metav1.UpdateOptions{}, metav1.DeleteOptions{}
	core, other := client.CoreV1(), namespace+"-not"
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: namespace} }
	as := func(name, user string, groups ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			c := rest.CopyConfig(conf)
			c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:masters")}
			client, end, err := connect(c)
			if err != nil {
				return err
			}
			defer end()
			_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(name)},
				create)
			return err
		}
	}
	edit := func(change func(*corev1.ConfigMap)) func(context.Context) error {
		return func(ctx context.Context) error {
			m, err := core.ConfigMaps(namespace).Get(ctx, "m", metav1.GetOptions{})
			if err == nil {
				change(m)
				_, err = core.ConfigMaps(namespace).Update(ctx, m, update)
			}
			return err
		}
	}
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "example/none"}},
			AutomountServiceAccountToken: ptr(false),
		}}
	}
	made := func(_ any, err error) error { return err }
	return func(yield func(string, ask) bool) {
		for _, c := range []struct {
			name string
			ask
		}{
			{"an object", ask{do: func(ctx context.Context) error {
				return made(core.ConfigMaps(namespace).Create(ctx,
					&corev1.ConfigMap{ObjectMeta: meta("m"),
						Data: map[string]string{"a": "1", "large": strings.Repeat("x", 900<<10)}}, create))
			}, want: []string{"CREATE configmaps m"}}},
			{
				"an update", ask{
					do: edit(func(m *corev1.ConfigMap) { m.Data["a"] = "2" }), want: []string{"UPDATE configmaps m"},
				},
			},
			{
				"a field more", ask{
					do: edit(func(m *corev1.ConfigMap) {
						m.BinaryData = map[string][]byte{"b": []byte("x")}
					}), want: []string{"UPDATE configmaps m"},
				},
			},
			{
				"a field less", ask{
					do: edit(func(m *corev1.ConfigMap) { m.BinaryData = nil }), want: []string{"UPDATE configmaps m"},
				},
			},
			{
				"labels", ask{
					do: edit(func(m *corev1.ConfigMap) { m.Labels = map[string]string{"a": "b"} }), want: []string{
						"UPDATE configmaps m",
					},
				},
			},
			{
				"annotations", ask{
					do: edit(func(m *corev1.ConfigMap) { m.Annotations = map[string]string{"a": "b"} }), want: []string{
						"UPDATE configmaps m",
					},
				},
			},
			{
				"annotations gone", ask{
					do: edit(func(m *corev1.ConfigMap) { m.Annotations = nil }), want: []string{"UPDATE configmaps m"},
				},
			},
			{"nothing", ask{do: edit(func(*corev1.ConfigMap) {}), want: nil}},
			{
				"a finalizer", ask{
					do: edit(func(m *corev1.ConfigMap) { m.Finalizers = []string{"example.com/a"} }), want: nil,
				},
			},
			{"no finalizer", ask{do: edit(func(m *corev1.ConfigMap) { m.Finalizers = nil }), want: nil}},
			{"a patch", ask{do: func(ctx context.Context) error {
				return made(core.ConfigMaps(namespace).Patch(ctx, "m", types.MergePatchType,
					[]byte(`{"data": {"a": "3"}}`), metav1.PatchOptions{}))
			}, want: []string{"UPDATE configmaps m"}}},
			{"applied", ask{do: func(ctx context.Context) error {
				return made(core.ConfigMaps(namespace).Patch(ctx, "m", types.ApplyPatchType,
					[]byte(`{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "3"}}`), metav1.PatchOptions{
						FieldManager: "x",
					}))
			}, want: nil}},
			{"a dry run", ask{do: func(ctx context.Context) error {
				return made(core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta("dry")},
					metav1.CreateOptions{DryRun: []string{"All"}}))
			}, want: []string{"CREATE configmaps dry"}}},
			{
				"a deletion", ask{
					do: func(ctx context.Context) error {
						return core.ConfigMaps(namespace).Delete(ctx, "m", remove)
					},
					want: []string{"DELETE configmaps m"},
				},
			},
			{"a Secret", ask{do: func(ctx context.Context) error {
				return made(core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta("s")}, create))
			}, want: nil}},
			{
				"a Secret's deletion", ask{
					do:   func(ctx context.Context) error { return core.Secrets(namespace).Delete(ctx, "s", remove) },
					want: nil,
				},
			},
			{"an Event", ask{do: func(ctx context.Context) error {
				return made(core.Events(namespace).Create(ctx,
					&corev1.Event{ObjectMeta: meta("e"), InvolvedObject: corev1.ObjectReference{Namespace: namespace}},
					create))
			}, want: nil}},
			{"a Lease", ask{do: func(ctx context.Context) error {
				return made(client.CoordinationV1().Leases(namespace).Create(ctx,
					&coordinationv1.Lease{ObjectMeta: meta("l")}, create))
			}, want: nil}},
			{"Endpoints", ask{do: func(ctx context.Context) error {
				return made(core.Endpoints(namespace).Create(ctx,
					&corev1.Endpoints{ObjectMeta: meta("e")}, create)) //nolint:staticcheck // still served
			}, want: nil}},
			{"a question for rights", ask{do: func(ctx context.Context) error {
				return made(client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
					&authorizationv1.SelfSubjectAccessReview{
						Spec: authorizationv1.SelfSubjectAccessReviewSpec{
							ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
						},
					}, create))
			}, want: nil}},
			{"an excluded kind", ask{do: func(ctx context.Context) error {
				return made(core.LimitRanges(namespace).Create(ctx, &corev1.LimitRange{ObjectMeta: meta("l")}, create))
			}, want: nil}},
			{"an excluded namespace", ask{do: func(ctx context.Context) error {
				return made(core.ConfigMaps(other).Create(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, create))
			}, want: nil}},
			{"the control plane's namespace", ask{do: func(ctx context.Context) error {
				_, err := core.ConfigMaps("kube-system").Create(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, create)
				if err == nil {
					err = core.ConfigMaps("kube-system").Delete(ctx, namespace, remove)
				}
				return err
			}, want: nil}},
			{
				"a Pod", ask{
					do: func(ctx context.Context) error {
						return made(core.Pods(namespace).Create(ctx, pod("p"),
							create))
					}, want: []string{"CREATE pods p"},
				},
			},
			{"its status", ask{do: func(ctx context.Context) error {
				return made(core.Pods(namespace).Patch(ctx, "p", types.MergePatchType,
					[]byte(`{"status": {"message": "x"}}`), metav1.PatchOptions{}, "status"))
			}, want: nil}},
			{"its binding", ask{do: func(ctx context.Context) error {
				return core.Pods(namespace).Bind(ctx,
					&corev1.Binding{ObjectMeta: meta("p"),
						Target: corev1.ObjectReference{Kind: "Node", Name: "no-such-node"}}, create)
			}, want: []string{"CREATE pods/binding p"}}},
			{"of a node", ask{do: as("n", "system:node:n", "system:nodes"), want: nil}},
			{"of another user", ask{do: as("o", "ann"), want: []string{"CREATE configmaps o"}}},
			{"of the API server", ask{do: as("a", "system:apiserver"), want: nil}},
			{"a Deployment that is paused", ask{do: func(ctx context.Context) error {
				labels := map[string]string{"a": "b"}
				return made(client.AppsV1().Deployments(namespace).Create(ctx,
					&appsv1.Deployment{ObjectMeta: meta("d"), Spec: appsv1.DeploymentSpec{
						Paused: true, Replicas: ptr(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
						Template: corev1.PodTemplateSpec{
							ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("").Spec,
						},
					}}, create))
			}, want: []string{"CREATE deployments.apps d"}}},
			{"its scale, the same", ask{do: func(ctx context.Context) error {
				return made(client.AppsV1().Deployments(namespace).UpdateScale(ctx, "d",
					&autoscalingv1.Scale{ObjectMeta: meta("d")}, update))
			}, want: nil}},
			{"its scale", ask{do: func(ctx context.Context) error {
				return made(client.AppsV1().Deployments(namespace).Patch(ctx, "d", types.MergePatchType,
					[]byte(`{"spec": {"replicas": 1}}`), metav1.PatchOptions{}, "scale"))
			}, want: []string{"UPDATE deployments.apps/scale d"}}},
		} {
			if !yield(c.name, c.ask) {
				return
			}
		}
	}
}
