// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// small is the size of the clusters in these tests.
var small = Size{Nodes: 3, Namespaces: 2, Deployments: 4, Pods: 8, Pace: 0.05}

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := New(small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// client returns a client that asks for a media type.
func (c *Cluster) client(t *testing.T, mediaType string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: c.URL(), QPS: -1, ContentConfig: rest.ContentConfig{AcceptContentTypes: mediaType},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// lists reads all kinds with objects.
func lists(t *testing.T, client kubernetes.Interface) map[string]runtime.Object {
	t.Helper()
	out := map[string]runtime.Object{}
	keep := func(what string) func(o runtime.Object, err error) {
		return func(o runtime.Object, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("cannot list %s: %v", what, err)
			}
			out[what] = o
		}
	}
	ctx, all := t.Context(), metav1.ListOptions{}
	core, apps := client.CoreV1(), client.AppsV1()
	pods, err := core.Pods("").List(ctx, all)
	keep("pods")(pods, err)
	nodes, err := core.Nodes().List(ctx, all)
	keep("nodes")(nodes, err)
	namespaces, err := core.Namespaces().List(ctx, all)
	keep("namespaces")(namespaces, err)
	services, err := core.Services("").List(ctx, all)
	keep("services")(services, err)
	deployments, err := apps.Deployments("").List(ctx, all)
	keep("deployments")(deployments, err)
	sets, err := apps.ReplicaSets("").List(ctx, all)
	keep("replicasets")(sets, err)
	slices, err := client.DiscoveryV1().EndpointSlices("").List(ctx, all)
	keep("endpointslices")(slices, err)
	events, err := client.EventsV1().Events("").List(ctx, all)
	keep("events")(events, err)
	leases, err := client.CoordinationV1().Leases("").List(ctx, all)
	keep("leases")(leases, err)
	return out
}

// TestEncodingsAgree: JSON and protobuf have the same objects, before and after a rollout.
func TestEncodingsAgree(t *testing.T) {
	c := newCluster(t)
	compare := func(when string) {
		t.Helper()
		asJSON, asProto := lists(t, c.client(t, jsonType)), lists(t, c.client(t, protoType))
		for what, list := range asJSON {
			if !apiequality.Semantic.DeepEqual(list, asProto[what]) {
				t.Errorf("%s: %s differ (-JSON +protobuf):\n%s", when, what, cmp.Diff(list, asProto[what]))
			}
		}
		for what, want := range map[string]int{"pods": 32, "nodes": 3, "endpointslices": 4, "leases": 0} {
			if got := meta.LenList(asJSON[what]); got != want {
				t.Errorf("%s: %d %s, want %d", when, got, what, want)
			}
		}
	}
	compare("at the start")
	done := c.Churn(t.Context(), 80, 100*time.Millisecond, nil)
	compare("after a rollout")
	if len(done.Rollouts) != 1 {
		t.Fatalf("%d rollouts, want 1", len(done.Rollouts))
	}
	if done.Versions != small.Pods*versionsPerPod || done.Events != small.Pods*int(eventsPerPod) {
		t.Errorf("%d versions of Pods and %d Events", done.Versions, done.Events)
	}
}

// TestWatch: both encodings show each change once, and a list with a watch gives the present state.
func TestWatch(t *testing.T) {
	for _, mediaType := range []string{jsonType, protoType} {
		t.Run(mediaType, func(t *testing.T) {
			c := newCluster(t)
			client := c.client(t, mediaType).CoreV1().Pods("")
			list, err := client.List(t.Context(), metav1.ListOptions{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if list.Continue == "" || list.RemainingItemCount == nil || *list.RemainingItemCount != 31 {
				t.Errorf("the page is %+v", list.ListMeta)
			}
			changes, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			if err != nil {
				t.Fatal(err)
			}
			defer changes.Stop()
			done := c.Churn(t.Context(), 80, 100*time.Millisecond, nil)
			seen := map[watch.EventType]int{}
			for range done.Versions {
				change := <-changes.ResultChan()
				if _, ok := change.Object.(*corev1.Pod); !ok {
					t.Fatalf("%s of %T", change.Type, change.Object)
				}
				seen[change.Type]++
			}
			want := map[watch.EventType]int{
				watch.Added: small.Pods, watch.Deleted: small.Pods, watch.Modified: small.Pods * (versionsPerPod - 2),
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPages: the pages of a list have each object once.
func TestPages(t *testing.T) {
	c := newCluster(t)
	client := c.client(t, protoType).CoreV1().Pods("")
	seen := map[string]bool{}
	opts := metav1.ListOptions{Limit: 5}
	for {
		list, err := client.List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			seen[list.Items[i].Name] = true
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	if len(seen) != 32 {
		t.Errorf("%d Pods, want 32", len(seen))
	}
}

func TestDiscovery(t *testing.T) {
	c := newCluster(t)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: c.URL()})
	if err != nil {
		t.Fatal(err)
	}
	for name, legacy := range map[string]bool{"Aggregated": false, "Plain": true} {
		t.Run(name, func(t *testing.T) {
			client.UseLegacyDiscovery = legacy
			lists, err := client.ServerPreferredResources()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, l := range lists {
				n += len(l.APIResources)
			}
			if n != len(resources) {
				t.Errorf("%d resources, want %d", n, len(resources))
			}
		})
	}
}

func TestMetadataOnly(t *testing.T) {
	c := newCluster(t)
	client, err := metadata.NewForConfig(&rest.Config{Host: c.URL()})
	if err != nil {
		t.Fatal(err)
	}
	system, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil || system.UID != clusterUID {
		t.Errorf("the namespace kube-system is %+v (%v)", system, err)
	}
	maps, err := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).
		List(t.Context(), metav1.ListOptions{})
	if err != nil || len(maps.Items) != 4 {
		t.Errorf("the ConfigMaps are %+v (%v)", maps, err)
	}
}

// TestSize: a ready Pod has the size of a real one.
func TestSize(t *testing.T) {
	p := podAt(podReady)
	n := len(mustJSON(p))
	t.Logf("a Pod has %d bytes in JSON and %d in protobuf", n, len(mustProto(p)))
	if n < 6000 || n > 10000 {
		t.Error("want 6,000 to 10,000 bytes in JSON")
	}
	var read corev1.Pod
	if err := json.Unmarshal(mustJSON(p), &read); err != nil {
		t.Error(err)
	}
}

// TestPodNames: no two Pods of a set have one name, as random as the names are.
func TestPodNames(t *testing.T) {
	const count = 20_000 // without a check, nine names exist twice
	c, err := New(Size{Nodes: 1, Namespaces: 1, Deployments: 1, Pods: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if got := len(c.store.collections[pods].objects); got != count {
		t.Errorf("there are %d Pods, want %d", got, count)
	}
}

// TestBroken: each broken Deployment has one Pod, which waits for the image of a cause.
func TestBroken(t *testing.T) {
	c, err := New(Size{Nodes: 1, Namespaces: 1, Deployments: 1, Pods: waves, Broken: 6, Causes: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	list, err := c.client(t, protoType).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waiting := map[string]int{}
	for _, p := range list.Items {
		if w := p.Status.ContainerStatuses[0].State.Waiting; w != nil {
			waiting[w.Reason+" "+p.Spec.Containers[0].Image]++
		}
	}
	want := map[string]int{"ImagePullBackOff " + missingImage(0): 3, "ImagePullBackOff " + missingImage(1): 3}
	if diff := cmp.Diff(want, waiting); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
