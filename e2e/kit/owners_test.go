// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// shared is a Head whose ConfigMap has several writers.
type shared struct {
	*life
	head *v1alpha1.Head
}

func newShared(t *testing.T, how sight, write func(context.Context, *hand, *v1alpha1.Head) error) *shared {
	t.Helper()
	install(t)
	l := newLife(t, how, true)
	l.write = write
	s := &shared{l, &v1alpha1.Head{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: "one", Annotations: outside(1, 1)},
		Spec:       v1alpha1.HeadSpec{Image: "registry.example/app:1", Message: "first", Replicas: ptr.To[int32](0)},
	}}
	if err := l.client.Create(t.Context(), s.head); err != nil {
		t.Fatal(err)
	}
	l.start(t)
	return s
}

// read returns the ConfigMap; an empty one if it does not exist.
func (s *shared) read(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	obj := &corev1.ConfigMap{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(s.head), obj); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return obj
}

// until waits until the ConfigMap has this data, and the operators' clients return its current
// version.
func (s *shared) until(t *testing.T, data map[string]string, by ...*subject) {
	t.Helper()
	harness.Eventually(t, "the data in the ConfigMap", func() bool { return maps.Equal(s.read(t).Data, data) })
	for _, o := range by {
		harness.Eventually(t, "the ConfigMap's version in the informer", func() bool {
			obj := &corev1.ConfigMap{}
			err := o.hand.client.Get(t.Context(), client.ObjectKeyFromObject(s.head), obj)
			return err == nil && obj.ResourceVersion == s.read(t).ResourceVersion
		})
	}
}

// rests fails if forced reconciles without work write the ConfigMap.
func (s *shared) rests(t *testing.T, reason string, by ...*subject) {
	t.Helper()
	before := s.read(t)
	for _, o := range by {
		o.force(t, again, s.head.Name)
		if err := o.failures(); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if after := s.read(t); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("%s: the ConfigMap was written: before %v, after %v", reason, before, after)
	}
}

// described returns a reconciler that applies the ConfigMap of a Head.
func described(opts ...client.ApplyOption) func(context.Context, *hand, *v1alpha1.Head) error {
	return func(ctx context.Context, w *hand, h *v1alpha1.Head) error {
		return w.client.Apply(ctx, children[3].applied(h), append(opts, owner)...)
	}
}

// TestRestampedByAnother: an operator does not apply a context that another writer has set on its
// child.
func TestRestampedByAnother(t *testing.T) {
	for name, opts := range map[string][]client.ApplyOption{"forced": {client.ForceOwnership}, "unforced": nil} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, owned, described(opts...))
			s.until(t, map[string]string{"image": "registry.example/app:1"}, s.subject)
			foreign := outside(9, 9)[lifeline.ContextKey]
			bench.MustKubectl(
				t,
				"",
				"-n",
				s.ns,
				"annotate",
				"--overwrite",
				"configmap/one",
				lifeline.ContextKey+"="+foreign,
			)
			s.until(t, map[string]string{"image": "registry.example/app:1"}, s.subject)
			s.rests(t, "after another writer's context", s.subject)

			base := s.head.DeepCopy()
			s.head.Spec.Image = "registry.example/app:2"
			if err := s.client.Patch(t.Context(), s.head, client.MergeFrom(base)); err != nil {
				t.Fatal(err)
			}
			s.until(t, map[string]string{"image": "registry.example/app:2"}, s.subject)
			s.rests(t, "after a change", s.subject)
			if got := s.read(t).Annotations[lifeline.ContextKey]; got != foreign {
				t.Errorf("the ConfigMap has context %s, want %s", got, foreign)
			}
		})
	}
}

// TestTwoAppliers: two operators apply parts of one object, without force.
func TestTwoAppliers(t *testing.T) {
	for _, how := range []sight{owned, live} {
		t.Run(string(how), func(t *testing.T) {
			s := newShared(t, how, described())
			s.until(t, map[string]string{"image": "registry.example/app:1"}, s.subject)
			second := &subject{
				sight: how,
				kit:   true,
				ns:    s.ns,
				write: func(ctx context.Context, w *hand, h *v1alpha1.Head) error {
					return w.client.Apply(
						ctx,
						corev1ac.ConfigMap(h.Name, h.Namespace).WithData(map[string]string{"message": h.Spec.Message}),
						client.FieldOwner("second"),
					)
				},
			}
			second.start(t)
			s.until(t, map[string]string{"image": "registry.example/app:1", "message": "first"}, s.subject, second)
			// Without an informer, only a conflict shows the owner of the context.
			if err := second.failures(); err != nil && how == owned {
				t.Error(err)
			}
			s.rests(t, "after the creation", s.subject, second)

			base := s.head.DeepCopy()
			s.head.Spec.Image, s.head.Spec.Message = "registry.example/app:2", "second"
			s.head.Annotations = outside(2, 1)
			if err := s.client.Patch(t.Context(), s.head, client.MergeFrom(base)); err != nil {
				t.Fatal(err)
			}
			s.until(t, map[string]string{"image": "registry.example/app:2", "message": "second"}, s.subject, second)
			s.rests(t, "after the change", s.subject, second)
			if got := trialOf(lifeline.Extract(s.read(t))); got != 2 {
				t.Errorf("the ConfigMap has the context of change %d, want 2", got)
			}
		})
	}
}
