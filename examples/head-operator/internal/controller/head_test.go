// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

func newHead(change ...func(*demov1alpha1.Head)) *demov1alpha1.Head {
	h := &demov1alpha1.Head{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "head", Generation: 1},
		Spec:       demov1alpha1.HeadSpec{Image: "web:1", Replicas: ptr.To[int32](2)},
	}
	for _, f := range change {
		f(h)
	}
	return h
}

func TestHeadWrites(t *testing.T) {
	up := func(image string, replicas int32) *demov1alpha1.ChildA {
		return newChildA(func(c *demov1alpha1.ChildA) {
			c.Spec = demov1alpha1.ChildASpec{Image: image, Replicas: replicas}
		})
	}
	cases := map[string]struct {
		reason string
		head   *demov1alpha1.Head
		child  *demov1alpha1.ChildA
		want   []string
		spec   demov1alpha1.ChildASpec
	}{
		"New": {
			reason: "a new Head gets a ChildA",
			head:   newHead(),
			want:   []string{"create ChildA", "update status of Head"},
			spec:   demov1alpha1.ChildASpec{Image: "web:1", Replicas: 2},
		},
		"NotDefaulted": {
			reason: "without the webhook, a Head has the default number of replicas",
			head:   newHead(func(h *demov1alpha1.Head) { h.Spec.Replicas = nil }),
			want:   []string{"create ChildA", "update status of Head"},
			spec:   demov1alpha1.ChildASpec{Image: "web:1", Replicas: demov1alpha1.DefaultReplicas},
		},
		"NewImage": {
			reason: "a change of the Head reaches its ChildA",
			head:   newHead(func(h *demov1alpha1.Head) { h.Spec.Image = "web:2" }),
			child:  up("web:1", 2),
			want:   []string{"update ChildA", "update status of Head"},
			spec:   demov1alpha1.ChildASpec{Image: "web:2", Replicas: 2},
		},
		"Message": {
			reason: "the message affects no child",
			head:   newHead(func(h *demov1alpha1.Head) { h.Spec.Message = "hello" }),
			child:  up("web:1", 2),
			want:   []string{"update status of Head"},
			spec:   demov1alpha1.ChildASpec{Image: "web:1", Replicas: 2},
		},
		"Deleted": {
			reason: "a Head in deletion gets no ChildA",
			head: newHead(func(h *demov1alpha1.Head) {
				h.DeletionTimestamp, h.Finalizers = ptr.To(metav1.Now()), []string{metav1.FinalizerDeleteDependents}
			}),
			child: up("web:0", 1),
			spec:  demov1alpha1.ChildASpec{Image: "web:0", Replicas: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.head)
			if tc.child != nil {
				if err := c.Create(t.Context(), tc.child); err != nil {
					t.Fatal(err)
				}
			}
			r := &HeadReconciler{Client: c}
			if diff := cmp.Diff(tc.want, c.reconcile(t, r)); diff != "" {
				t.Errorf("\n%s\nwrites: -want +got:\n%s", tc.reason, diff)
			}
			child := get(t, c, &demov1alpha1.ChildA{})
			if diff := cmp.Diff(tc.spec, child.Spec); diff != "" {
				t.Errorf("\n%s\nspec of the ChildA: -want +got:\n%s", tc.reason, diff)
			}
			if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != "head" {
				t.Errorf("\n%s\nthe ChildA's owner must be the Head, not %v", tc.reason, owner)
			}
			if again := c.reconcile(t, r); again != nil {
				t.Errorf("\n%s\na second reconcile must write nothing, not %v", tc.reason, again)
			}
		})
	}
}

func TestHeadMirrors(t *testing.T) {
	c := newCluster(t, newHead(), newChildA(func(c *demov1alpha1.ChildA) {
		setStatus(&c.Status, c.Generation, 2, ready("2 of 2 replicas are available"))
	}))
	c.reconcile(t, &HeadReconciler{Client: c})
	want := demov1alpha1.Status{
		ObservedGeneration: 1,
		ReadyReplicas:      2,
		Conditions: []metav1.Condition{{
			Type: demov1alpha1.Ready, Status: metav1.ConditionTrue, ObservedGeneration: 1,
			Reason: demov1alpha1.ReasonReady, Message: "2 of 2 replicas are available",
		}},
	}
	got := get(t, c, &demov1alpha1.Head{}).Status
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("status of the Head: -want +got:\n%s", diff)
	}
}

func TestHeadConflict(t *testing.T) {
	c := newCluster(t, newHead())
	c.conflict = true
	r := &HeadReconciler{Client: c}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !apierrors.IsConflict(err) {
		t.Fatalf("Reconcile must return the conflict, for a retry: %v", err)
	}
	if diff := cmp.Diff([]string{"update status of Head"}, c.reconcile(t, r)); diff != "" {
		t.Errorf("writes of the retry: -want +got:\n%s", diff)
	}
}

func TestHeadGone(t *testing.T) {
	c := newCluster(t)
	if got := c.reconcile(t, &HeadReconciler{Client: c}); got != nil {
		t.Errorf("a reconcile of a deleted Head must write nothing, not %v", got)
	}
}
