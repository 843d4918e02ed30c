// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

// note returns the managedFields entry of a manager that has set annotations.
func note(manager string, operation metav1.ManagedFieldsOperationType, keys ...string) metav1.ManagedFieldsEntry {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%q:{}", "f:"+k))
	}
	return metav1.ManagedFieldsEntry{
		Manager:    manager,
		Operation:  operation,
		APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(
			`{"f:data":{"f:a":{}},"f:metadata":{"f:annotations":{` + strings.Join(all, ",") + `}}}`,
		),
	}
}

func childIdentity() lifeline.Identity {
	return lifeline.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "child", UID: "uid-child"}
}

// stamped returns the child in the informer, with an earlier context from the kit.
func stamped(notes ...metav1.ManagedFieldsEntry) *corev1.ConfigMap {
	obj := child()
	obj.UID, obj.ResourceVersion, obj.ManagedFields = "uid-child", "7", notes
	obj.Annotations = lifeline.Default.Encode(
		lifeline.Claimed(given(5), lifeline.Claim{Object: childIdentity().Hash(), Digest: 5}),
		baggage.Baggage{},
	)
	return obj
}

// recorded stores the applied objects, and responds with answer.
func recorded(got *[]map[string]string, answer func(u *unstructured.Unstructured) error) interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(
			_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption,
		) error {
			u := obj.(interface {
				GetAnnotations() map[string]string
				UnstructuredContent() map[string]any
			})
			*got = append(*got, maps.Clone(u.GetAnnotations()))
			if answer == nil {
				return nil
			}
			return answer(&unstructured.Unstructured{Object: u.UnstructuredContent()})
		},
	}
}

func applies(value string, opts ...client.ApplyOption) func(context.Context, client.Client) (reconcile.Result, error) {
	return func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		return reconcile.Result{}, c.Apply(
			ctx,
			corev1ac.ConfigMap("child", "demo").WithData(map[string]string{"a": value}),
			append(opts, client.FieldOwner("head"))...)
	}
}

func TestApplyTakesNothingOver(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	both := []string{lifeline.ContextKey, lifeline.StateKey}
	foreign := func(notes ...metav1.ManagedFieldsEntry) *corev1.ConfigMap {
		obj := stamped(notes...)
		obj.Annotations = lifeline.Default.Encode(given(9), baggage.Baggage{})
		return obj
	}
	cases := map[string]struct {
		reason string
		have   *corev1.ConfigMap
		value  string
		force  bool
		want   string // "none", "same" or "new"
	}{
		"its own, unchanged": {
			"an omitted annotation would be removed",
			stamped(note("head", apply, both...)),
			"1",
			false,
			"same",
		},
		"its own, changed":          {"P1", stamped(note("head", apply, both...)), "2", false, "new"},
		"without a setter, changed": {"P1", stamped(note("other", apply)), "2", false, "new"},
		"another's, unchanged": {
			"sending the context would add a second owner",
			stamped(note("other", apply, both...)),
			"1",
			true,
			"none",
		},
		"another's, changed": {
			"the apply would be refused",
			stamped(note("other", apply, both...)),
			"2",
			false,
			"none",
		},
		"another's, changed, forced": {"P1", stamped(note("other", apply, both...)), "2", true, "new"},
		"its own by update, unchanged": {
			"an update counts as another owner",
			stamped(note("head", update, both...)),
			"1",
			true,
			"none",
		},
		"its own by update, changed": {
			"an update counts as another owner",
			stamped(note("head", update, both...)),
			"2",
			false,
			"none",
		},
		"shared, changed": {
			"a new context would be refused; the old one must stay",
			stamped(note("head", apply, both...), note("other", apply, both...)),
			"2",
			false,
			"same",
		},
		"restamped by another, unchanged": {
			"omitting the context changes nothing",
			foreign(note("kubectl", update, both...)),
			"1",
			true,
			"none",
		},
		"restamped by another, changed": {"P3b", foreign(note("kubectl", update, both...)), "2", true, "none"},
		"notes stripped, unchanged": {
			"without managedFields the context is repeated, so that it is not lost",
			stamped(),
			"1",
			true,
			"same",
		},
		"notes stripped, changed": {"P1", stamped(), "2", true, "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []map[string]string
			r := newRig(t, recorded(&got, nil))
			r.have(t, parent(carrying(given(1))))
			if err := r.children.Add(tc.have); err != nil {
				t.Fatal(err)
			}
			opts := []client.ApplyOption{}
			if tc.force {
				opts = append(opts, client.ForceOwnership)
			}
			if _, err := r.reconcile(t, applies(tc.value, opts...)); err != nil {
				t.Fatal(err)
			}
			sent := "new"
			switch {
			case len(got[0]) == 0:
				sent = "none"
			case maps.Equal(got[0], tc.have.Annotations):
				sent = "same"
			}
			if sent != tc.want {
				t.Errorf("%s: sent %v, want %s", tc.reason, got[0], tc.want)
			}
		})
	}
}

// TestApplyThatWasRefused applies without an informer, when the owner of the context is unknown.
// After the refusal, the next apply leaves the context to its owner.
func TestApplyThatWasRefused(t *testing.T) {
	var got []map[string]string
	refuse := apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".metadata.annotations." + lifeline.ContextKey,
	}}, "conflict with other")
	r := newRig(t, recorded(&got, func(u *unstructured.Unstructured) error {
		if len(u.GetAnnotations()) > 0 {
			return refuse
		}
		u.SetUID("uid-child")
		u.SetResourceVersion("8")
		u.SetAnnotations(stamped().Annotations)
		u.SetManagedFields([]metav1.ManagedFieldsEntry{
			note("other", metav1.ManagedFieldsOperationApply, lifeline.ContextKey, lifeline.StateKey),
		})
		return nil
	}))
	r.have(t, parent(carrying(given(1))))
	var errs []bool
	for _, value := range []string{"1", "1", "1", "2", "2"} {
		_, err := r.reconcile(t, applies(value))
		errs = append(errs, err != nil)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false}, errs); diff != "" {
		t.Errorf("failures of the applies: -want +got\n%s", diff)
	}
	for i, a := range got[1:] {
		if len(a) > 0 {
			t.Errorf("apply %d sent annotations %v", i+1, a)
		}
	}
}
