// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// These variables make the test binary a client-go program that honours
// KUBECONFIG, for lifeline to run.
const (
	clientEncoding  = "LIFELINE_E2E_CLIENT"
	clientNamespace = "LIFELINE_E2E_NAMESPACE"
	clientAgent     = "lifeline-e2e-client"
)

// client is that program. It returns its exit code.
func client(encoding string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		cfg.UserAgent = clientAgent
		cfg.ContentType, cfg.AcceptContentTypes = encoding, encoding+",application/json;q=0.5"
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return told{next} })
		var set *kubernetes.Clientset
		if set, err = kubernetes.NewForConfig(cfg); err == nil {
			err = work(ctx, set.CoreV1().ConfigMaps(os.Getenv(clientNamespace)))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	return 0
}

// told prints each answer's encoding.
type told struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t told) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		fmt.Println("answer", r.Method, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return resp, err
}

// work writes in every way there is, and waits for a watch to show each write.
func work(ctx context.Context, maps typedcorev1.ConfigMapInterface) error {
	changes, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "by=client"})
	if err != nil {
		return err
	}
	defer changes.Stop()
	seen := func(kind watch.EventType, name string) error {
		select {
		case e := <-changes.ResultChan():
			if m, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == kind && m.Name == name {
				return nil
			}
			return fmt.Errorf("the watch shows %s %v, want %s %s", e.Type, e.Object, kind, name)
		case <-ctx.Done():
			return errors.New("the watch shows nothing")
		}
	}
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"by": "client"}},
			Data:       map[string]string{"a": "b"},
		}
	}
	var one *corev1.ConfigMap
	steps := []struct {
		do   func() error
		kind watch.EventType // empty where nothing is stored
		name string
	}{
		{func() error {
			_, err := maps.Create(ctx, object("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}, "", ""},
		{
			func() (err error) { one, err = maps.Create(ctx, object("one"), metav1.CreateOptions{}); return err },
			watch.Added,
			"one",
		},
		{func() (err error) {
			one.Data["a"] = strings.Repeat("long ", 100<<10)
			one, err = maps.Update(ctx, one, metav1.UpdateOptions{})
			return err
		}, watch.Modified, "one"},
		{func() error { _, err := maps.Update(ctx, one, metav1.UpdateOptions{}); return err }, "", ""},
		{func() error {
			_, err := maps.Patch(ctx, "one", types.MergePatchType, []byte(`{"data":{"a":"c"}}`), metav1.PatchOptions{})
			return err
		}, watch.Modified, "one"},
		{func() error {
			_, err := maps.Apply(
				ctx,
				corev1ac.ConfigMap("one", os.Getenv(clientNamespace)).WithData(map[string]string{"d": "e"}),
				metav1.ApplyOptions{FieldManager: "me"},
			)
			return err
		}, watch.Modified, "one"},
		{
			func() error { _, err := maps.Create(ctx, object("two"), metav1.CreateOptions{}); return err },
			watch.Added,
			"two",
		},
		{func() error {
			return maps.Delete(ctx, "one", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}, "", ""},
		{func() error {
			return maps.Delete(
				ctx,
				"one",
				metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(one.UID))},
			)
		}, watch.Deleted, "one"},
		{func() error {
			return maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "by=client"})
		}, watch.Deleted, "two"},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if step.kind == "" {
			continue
		}
		if err := seen(step.kind, step.name); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func TestClientGoPrograms(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, encoding := range map[string]string{
		"JSON":     "application/json",
		"protobuf": "application/vnd.kubernetes.protobuf",
		"CBOR":     "application/cbor",
	} {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			r := harness.Parse(t, bench.Do(t, harness.Call{
				Args: []string{"run", "-o", "json", "--", program},
				Env: []string{
					clientEncoding + "=" + encoding,
					clientNamespace + "=" + ns,
					"KUBE_FEATURE_ClientsAllowCBOR=true",
				},
			}))
			if r.Code != 0 {
				t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
			}
			outline(t, r, `
run converged
  create ConfigMap one (request)
  create ConfigMap two (request)
  delete ConfigMap one (request)
  delete ConfigMap two (request)
  update ConfigMap one (request) ×3
`)
			bench.CheckRequests(t, r, ns, clientAgent)
			encodings := map[string]int{}
			for line := range strings.Lines(r.Stderr) {
				if media, ok := strings.CutPrefix(line, "answer POST 201 "); ok {
					encodings[strings.TrimSpace(media)]++
				}
			}
			if diff := cmp.Diff(map[string]int{encoding: 3}, encodings); diff != "" {
				t.Errorf("encodings of the answers to creates (-want +got):\n%s", diff)
			}
		})
	}
}
