// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

// child is a kind of child. The operator writes one object of each kind for each Head.
type child struct {
	gvk      schema.GroupVersionKind
	resource string
	empty    func() client.Object
	// template returns the object without the API server's defaults.
	template func(h *v1alpha1.Head) client.Object
	// set sets each field that depends on the Head.
	set func(obj client.Object, h *v1alpha1.Head)
	// path is the JSON pointer of a field that depends on the Head, and value its value.
	path  string
	value func(h *v1alpha1.Head) any
	// typed returns an empty apply configuration; nil for a kind without that type.
	typed func() runtime.ApplyConfiguration
}

var children = []child{
	{
		gvk: v1alpha1.GroupVersion.WithKind("ChildA"), resource: "childas",
		empty: func() client.Object { return &v1alpha1.ChildA{} },
		template: func(h *v1alpha1.Head) client.Object {
			return &v1alpha1.ChildA{Spec: v1alpha1.ChildASpec{Image: h.Spec.Image}}
		},
		set:  func(obj client.Object, h *v1alpha1.Head) { obj.(*v1alpha1.ChildA).Spec.Image = h.Spec.Image },
		path: "/spec/image", value: func(h *v1alpha1.Head) any { return h.Spec.Image },
	},
	{
		gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), resource: "deployments",
		empty: func() client.Object { return &appsv1.Deployment{} },
		template: func(h *v1alpha1.Head) client.Object {
			labels := map[string]string{"app": h.Name}
			return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
				Replicas: h.Spec.Replicas,
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: h.Spec.Image}}},
				},
			}}
		},
		set: func(obj client.Object, h *v1alpha1.Head) {
			d := obj.(*appsv1.Deployment)
			d.Spec.Replicas = h.Spec.Replicas
			d.Spec.Template.Spec.Containers[0].Image = h.Spec.Image
		},
		path: "/spec/template/spec/containers/0/image", value: func(h *v1alpha1.Head) any { return h.Spec.Image },
		typed: func() runtime.ApplyConfiguration { return &appsv1ac.DeploymentApplyConfiguration{} },
	},
	{
		gvk: corev1.SchemeGroupVersion.WithKind("Service"), resource: "services",
		empty: func() client.Object { return &corev1.Service{} },
		template: func(h *v1alpha1.Head) client.Object {
			return &corev1.Service{
				Spec: corev1.ServiceSpec{Selector: selector(h), Ports: []corev1.ServicePort{{Port: 80}}},
			}
		},
		set:  func(obj client.Object, h *v1alpha1.Head) { obj.(*corev1.Service).Spec.Selector = selector(h) },
		path: "/spec/selector", value: func(h *v1alpha1.Head) any { return selector(h) },
		typed: func() runtime.ApplyConfiguration { return &corev1ac.ServiceApplyConfiguration{} },
	},
	{
		gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), resource: "configmaps",
		empty: func() client.Object { return &corev1.ConfigMap{} },
		template: func(h *v1alpha1.Head) client.Object {
			return &corev1.ConfigMap{Data: map[string]string{"image": h.Spec.Image}}
		},
		set:  func(obj client.Object, h *v1alpha1.Head) { obj.(*corev1.ConfigMap).Data["image"] = h.Spec.Image },
		path: "/data/image", value: func(h *v1alpha1.Head) any { return h.Spec.Image },
		typed: func() runtime.ApplyConfiguration { return &corev1ac.ConfigMapApplyConfiguration{} },
	},
}

func selector(h *v1alpha1.Head) map[string]string {
	_, tag, _ := strings.Cut(h.Spec.Image, ":")
	return map[string]string{"app": h.Name, "tag": tag}
}

// fresh returns the child of a Head to create.
func (c child) fresh(h *v1alpha1.Head) client.Object {
	obj := c.template(h)
	obj.SetName(h.Name)
	obj.SetNamespace(h.Namespace)
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	utilruntime.Must(controllerutil.SetControllerReference(h, obj, scheme))
	return obj
}

// overwrite replaces whole parts of an object by those of the template. It so removes the API
// server's defaults in them.
func (c child) overwrite(obj client.Object, h *v1alpha1.Head) {
	switch t := c.template(h).(type) {
	case *v1alpha1.ChildA:
		obj.(*v1alpha1.ChildA).Spec = t.Spec
	case *appsv1.Deployment:
		d := obj.(*appsv1.Deployment)
		d.Spec.Replicas, d.Spec.Template = t.Spec.Replicas, t.Spec.Template
	case *corev1.Service:
		s := obj.(*corev1.Service)
		s.Spec.Selector, s.Spec.Ports = t.Spec.Selector, t.Spec.Ports
	case *corev1.ConfigMap:
		obj.(*corev1.ConfigMap).Data = t.Data
	}
}

// described returns the fresh child with the fields of an apply configuration.
func (c child) described(h *v1alpha1.Head) *unstructured.Unstructured {
	text, err := json.Marshal(c.fresh(h))
	utilruntime.Must(err)
	u := &unstructured.Unstructured{}
	utilruntime.Must(u.UnmarshalJSON(text))
	delete(u.Object, "status")
	prune(u.Object)
	return u
}

// applied returns the fresh child as an apply configuration of its type, or unstructured.
func (c child) applied(h *v1alpha1.Head) runtime.ApplyConfiguration {
	u := c.described(h)
	if c.typed == nil {
		return client.ApplyConfigurationFromUnstructured(u)
	}
	text, err := u.MarshalJSON()
	utilruntime.Must(err)
	ac := c.typed()
	utilruntime.Must(json.Unmarshal(text, ac))
	return ac
}

// part returns the desired state of the fresh child as a merge patch.
func (c child) part(h *v1alpha1.Head) map[string]any {
	u := c.described(h)
	for _, k := range []string{"apiVersion", "kind", "metadata"} {
		delete(u.Object, k)
	}
	return u.Object
}

// prune removes null values and empty maps, which an apply configuration does not have.
func prune(m map[string]any) {
	for k, v := range m {
		if in, ok := v.(map[string]any); ok {
			prune(in)
			if len(in) == 0 {
				delete(m, k)
			}
		}
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if in, ok := e.(map[string]any); ok {
					prune(in)
				}
			}
		}
		if v == nil {
			delete(m, k)
		}
	}
}

func (c child) String() string { return fmt.Sprintf("%s (%s)", c.gvk.Kind, c.resource) }

// gvkOf returns the kind with that name.
func gvkOf(kind string) schema.GroupVersionKind {
	switch kind {
	case "Head":
		return v1alpha1.GroupVersion.WithKind(kind)
	case "ReplicaSet":
		return appsv1.SchemeGroupVersion.WithKind(kind)
	case "Pod":
		return corev1.SchemeGroupVersion.WithKind(kind)
	}
	for _, c := range children {
		if c.gvk.Kind == kind {
			return c.gvk
		}
	}
	return schema.GroupVersionKind{}
}
