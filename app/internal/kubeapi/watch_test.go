// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

var changes = schema.GroupVersionResource{Group: Group, Version: Version, Resource: Resource}

// client returns the client of client-go for the changes of a namespace.
func (c *cluster) client(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: c.url}, c.http)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// next returns the next event of a watch: its type, the name and the state of its change.
func next(t *testing.T, w watch.Interface) string {
	t.Helper()
	select {
	case e, open := <-w.ResultChan():
		if !open {
			return "end"
		}
		if status, is := e.Object.(*metav1.Status); is {
			return string(e.Type) + " " + string(status.Reason)
		}
		o := e.Object.(*unstructured.Unstructured)
		state, _, _ := unstructured.NestedString(o.Object, "status", "state")
		return strings.TrimSpace(string(e.Type) + " " + short(o.GetName()) + " " + state)
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 s")
		return ""
	}
}

func short(name string) string { return name[:min(8, len(name))] }

// TestWatch: after a list, a watch has each change since then once.
func TestWatch(t *testing.T) {
	open, apply := spantest.Unschedulable(), spantest.Apply()
	c := newCluster(t, []*span.Trace{open}, []*span.Trace{apply})
	client := c.client(t).Resource(changes).Namespace("default")
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	// Between the list and the watch, one change begins and ends.
	crash := spantest.CrashLoop()
	c.look(t, now.Add(time.Second), nil, []*span.Trace{crash})
	w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	expect := func(want string) {
		t.Helper()
		if got := next(t, w); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect("MODIFIED " + short(crash.ID.String()) + " failed") // it began before the list
	// The open one changes, ends, and another is withdrawn.
	c.look(t, now.Add(2*time.Second), []*span.Trace{open}, nil)
	expect("MODIFIED " + short(open.ID.String()) + " stuck")
	ended := *open
	ended.Outcome = span.Converged
	c.hub.Publish([]api.Update{{Trace: &ended, AsOf: now.Add(3 * time.Second)}})
	expect("MODIFIED " + short(open.ID.String()) + " converged")
	rollout := spantest.Rollout()
	c.hub.Publish([]api.Update{{Trace: rollout, Open: true, AsOf: now.Add(4 * time.Second)}})
	state := next(t, w)
	if !strings.HasPrefix(state, "ADDED "+short(rollout.ID.String())) {
		t.Errorf("got %q", state)
	}
	c.hub.Publish([]api.Update{{Trace: rollout, Open: true, Withdrawn: true, AsOf: now.Add(5 * time.Second)}})
	expect("DELETED " + short(rollout.ID.String()))
}

// TestWatchSelected: a change that does not match any more is deleted for the client.
func TestWatchSelected(t *testing.T) {
	open := spantest.Unschedulable()
	c := newCluster(t, []*span.Trace{open}, nil)
	w, err := c.client(t).Resource(changes).Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: versionOf(now), FieldSelector: "status.state=stuck",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	crash, ended := spantest.CrashLoop(), *open
	ended.Outcome = span.Converged
	c.hub.Publish([]api.Update{{Trace: crash, AsOf: now.Add(time.Second)}})
	c.hub.Publish([]api.Update{{Trace: &ended, AsOf: now.Add(2 * time.Second)}})
	got := next(t, w)
	if got == "DELETED "+short(crash.ID.String())+" failed" {
		got = next(t, w) // published before the end of the open changes: the client may have had it
	}
	if want := "DELETED " + short(open.ID.String()) + " converged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTooOld: a watch that cannot have all changes since its version gets 410, and the client lists again.
func TestTooOld(t *testing.T) {
	c := newCluster(t, nil, []*span.Trace{spantest.Apply()})
	client := c.client(t).Resource(changes)
	for reason, at := range map[string]time.Time{
		"a server that started later": now.Add(-time.Second),
		"a version of another server": now.Add(time.Hour),
	} {
		w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: versionOf(at)})
		if err == nil {
			if got := next(t, w); got != "ERROR Expired" {
				t.Errorf("%s: got %q", reason, got)
			}
			w.Stop()
			continue
		}
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestInformer: an informer of client-go has the changes, by a list or by a streamed list, and follows them.
func TestInformer(t *testing.T) {
	open, apply := spantest.Unschedulable(), spantest.Apply()
	c := newCluster(t, []*span.Trace{open}, []*span.Trace{apply})
	informers := dynamicinformer.NewDynamicSharedInformerFactory(c.client(t), 0)
	informer := informers.ForResource(changes).Informer()
	seen := make(chan string, 100)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { seen <- o.(*unstructured.Unstructured).GetName() },
		UpdateFunc: func(_, o any) {
			state, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "status", "state")
			seen <- state
		},
	}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	informers.Start(stop)
	defer informers.Shutdown()
	defer close(stop)
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not synchronise")
	}
	got := map[string]bool{<-seen: true, <-seen: true}
	if !got[open.ID.String()] || !got[apply.ID.String()] {
		t.Errorf("it has %v", got)
	}
	ended := *open
	ended.Outcome = span.Converged
	c.hub.Publish([]api.Update{{Trace: &ended, AsOf: now.Add(time.Second)}})
	if state := <-seen; state != "converged" {
		t.Errorf("the update is %q", state)
	}
}
