// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Controllers that write whole objects from a template of their own, whenever
// anything happens to them, and know nothing of contexts.

// loopFor is how long such a controller works in one step if nothing ends it: a
// loop is a matter of hundreds of writes.
const loopFor = 3 * time.Second

// keeping writes an object, at first and at each event of it, until there was none
// for a while.
func keeping(resource schema.GroupVersionResource, manifest string) func(*stage) {
	return func(s *stage) {
		template := object(s, manifest)
		objects := s.any.Resource(resource).Namespace(s.ns)
		ctx, cancel := context.WithTimeout(s.Context(), loopFor)
		defer cancel()
		events, err := objects.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + template.GetName()})
		s.no(err)
		defer events.Stop()
		put := func() {
			now := template.DeepCopy()
			was, err := objects.Get(ctx, template.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				_, err = objects.Create(ctx, now, metav1.CreateOptions{})
				s.no(err)
				return
			}
			if ctx.Err() != nil {
				return
			}
			s.no(err)
			now.SetAnnotations(revision(was.GetAnnotations()))
			now.SetResourceVersion(was.GetResourceVersion()) // or it might take away a revision that it has not seen
			if _, err = objects.Update(ctx, now, metav1.UpdateOptions{}); ctx.Err() == nil &&
				!apierrors.IsConflict(err) {
				s.no(err)
			}
		}
		put()
		idle := time.NewTimer(quiet)
		for {
			select {
			case <-ctx.Done():
				return
			case <-idle.C:
				return
			case <-events.ResultChan():
				put()
				idle.Reset(quiet)
			}
		}
	}
}

// revision is the annotation of a Deployment that a writer must keep. Its
// controller would write it again.
func revision(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(k, _ string) bool { return !strings.HasPrefix(k, "deployment.kubernetes.io/") })
	return kept
}

func object(s *stage, manifest string) *unstructured.Unstructured {
	s.Helper()
	o := &unstructured.Unstructured{}
	s.no(yaml.Unmarshal([]byte(manifest), &o.Object))
	return o
}

var (
	deploymentsV1  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	statefulSetsV1 = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	servicesV1     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	configMapsV1   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

var templates = []scenario{
	{
		name:   "own template, Service",
		reason: "a PUT without what the API server allocates looks like a change, every time",
		steps: []step{
			{name: "create", do: keeping(servicesV1, service(80))},
			{name: "keep", do: keeping(servicesV1, service(80))},
			{name: "change", do: keeping(servicesV1, service(81))},
			{name: "keep what was changed", do: keeping(servicesV1, service(81))},
			{name: "against somebody's label", do: func(s *stage) {
				s.kubectl("label", "service/web", "team=a")
				keeping(servicesV1, service(81))(s)
			}},
		},
	},
	{
		name:   "own template, Deployment",
		reason: "the controller drops the context with each write, and the Deployment's own has copied it",
		steps: []step{
			{name: "create", do: keeping(deploymentsV1, web(2, "web:1"))},
			{name: "keep", do: keeping(deploymentsV1, web(2, "web:1"))},
			{name: "scale", do: keeping(deploymentsV1, web(3, "web:1"))},
			{name: "template", do: keeping(deploymentsV1, web(2, "web:2"))},
			{name: "keep what was changed", do: keeping(deploymentsV1, web(2, "web:2"))},
			{name: "against somebody's scale", do: func(s *stage) {
				s.kubectl("scale", "deployment/web", "--replicas=3")
				keeping(deploymentsV1, web(2, "web:2"))(s)
			}},
		},
	},
	{
		name:   "own template, StatefulSet and ConfigMap",
		reason: "the same for kinds whose context comes with each change",
		steps: []step{
			{name: "create", do: func(s *stage) {
				keeping(statefulSetsV1, database(1, "db:1"))(s)
				keeping(configMapsV1, settingsMap("1"))(s)
			}},
			{name: "keep", do: func(s *stage) {
				keeping(statefulSetsV1, database(1, "db:1"))(s)
				keeping(configMapsV1, settingsMap("1"))(s)
			}},
			{name: "change", do: func(s *stage) {
				keeping(statefulSetsV1, database(2, "db:2"))(s)
				keeping(configMapsV1, settingsMap("2"))(s)
			}},
		},
	},
	{
		name:   "annotations copied to children",
		reason: "what copies annotations copies a context, which is not the child's and is put back (P3h)",
		steps: []step{
			{name: "create", do: func(s *stage) {
				apply(settingsMap("1"))(s)
				copying(s)
			}},
			{name: "nothing", do: copying},
			{name: "unrelated change", do: func(s *stage) {
				s.kubectl("patch", "configmap/settings", "--type=merge", "-p", `{"data":{"other":"1"}}`)
				copying(s)
			}},
			{name: "nothing again", do: copying},
			{name: "their own annotation", do: func(s *stage) {
				s.kubectl("annotate", "configmap/settings", "note=a")
				copying(s)
			}},
		},
	},
}

// copying is an operator that copies the annotations of a ConfigMap to three others
// and writes those that differ, three times over.
func copying(s *stage) {
	s.Helper()
	maps := s.client.CoreV1().ConfigMaps(s.ns)
	for range 3 {
		parent, err := maps.Get(s.Context(), "settings", metav1.GetOptions{})
		s.no(err)
		annotations := map[string]string{}
		for k, v := range parent.Annotations {
			if !strings.HasPrefix(k, "kubectl.kubernetes.io/") {
				annotations[k] = v
			}
		}
		for _, name := range []string{"child-0", "child-1", "child-2"} {
			child, err := maps.Get(s.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				child.Name, child.Annotations = name, annotations
				child.OwnerReferences = []metav1.OwnerReference{
					*metav1.NewControllerRef(parent, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}),
				}
				_, err = maps.Create(s.Context(), child, metav1.CreateOptions{})
				s.no(err)
				continue
			}
			s.no(err)
			if !equal(child.Annotations, annotations) {
				child.Annotations = annotations
				_, err = maps.Update(s.Context(), child, metav1.UpdateOptions{})
				s.no(err)
			}
		}
	}
}

func equal(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || maps.Equal(a, b) }
