// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// hand has the clients of a reconciler.
type hand struct {
	client client.Client
	reader client.Reader
}

// styles are the tested ways to write. Each writes one child of a Head at every reconcile, even
// without a change.
var styles = map[string]func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error{
	"update": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			c.set(obj, h)
			return w.client.Update(ctx, obj)
		})
	},
	"update-overwritten": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			c.overwrite(obj, h)
			return w.client.Update(ctx, obj)
		})
	},
	"update-template": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			fresh := c.fresh(h)
			fresh.SetResourceVersion(obj.GetResourceVersion())
			fresh.SetAnnotations(others(obj))
			return w.client.Update(ctx, fresh)
		})
	},
	"update-unstructured": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(c.gvk)
		err := w.reader.Get(ctx, client.ObjectKeyFromObject(h), u)
		if apierrors.IsNotFound(err) {
			return w.create(ctx, c, h)
		}
		if err != nil {
			return err
		}
		for k, v := range c.part(h) {
			if in, ok := v.(map[string]any); ok {
				for k2, v2 := range in {
					if err := unstructured.SetNestedField(u.Object, v2, k, k2); err != nil {
						return err
					}
				}
			}
		}
		u.SetAnnotations(others(u))
		return w.client.Update(ctx, u)
	},
	"create-or-update": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		obj := c.fresh(h)
		_, err := controllerutil.CreateOrUpdate(ctx, w.both(), obj, func() error {
			if obj.GetResourceVersion() != "" {
				c.set(obj, h)
			}
			return nil
		})
		return client.IgnoreAlreadyExists(err)
	},
	"create-or-update-overwritten": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		obj := c.fresh(h)
		_, err := controllerutil.CreateOrUpdate(ctx, w.both(), obj, func() error {
			c.overwrite(obj, h)
			return nil
		})
		return client.IgnoreAlreadyExists(err)
	},
	"create-or-patch": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		obj := c.fresh(h)
		_, err := controllerutil.CreateOrPatch(ctx, w.both(), obj, func() error {
			if obj.GetResourceVersion() != "" {
				c.set(obj, h)
			}
			return nil
		})
		return client.IgnoreAlreadyExists(err)
	},
	"merge-from": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			base := obj.DeepCopyObject().(client.Object)
			c.set(obj, h)
			return w.client.Patch(ctx, obj, client.MergeFrom(base))
		})
	},
	"merge-from-dropped": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			base := obj.DeepCopyObject().(client.Object)
			c.set(obj, h)
			obj.SetAnnotations(others(obj))
			return w.client.Patch(ctx, obj, client.MergeFrom(base))
		})
	},
	"strategic-from": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			base := obj.DeepCopyObject().(client.Object)
			c.set(obj, h)
			patch := client.StrategicMergeFrom(base)
			if c.gvk.Group == v1alpha1.GroupVersion.Group {
				patch = client.MergeFrom(base)
			}
			return w.client.Patch(ctx, obj, patch)
		})
	},
	"merge-raw": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.merge(ctx, c, h, c.part(h))
	},
	"merge-raw-null": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		part := c.part(h)
		part["metadata"] = map[string]any{"annotations": map[string]any{
			"trace.kubernetes.io/context":    nil,
			"trace.kubernetes.io/tracestate": nil,
			"trace.kubernetes.io/baggage":    nil,
		}}
		return w.merge(ctx, c, h, part)
	},
	"merge-raw-again": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.edit(ctx, c, h, func(obj client.Object) error {
			part := c.part(h)
			if own := contexts(obj); len(own) > 0 {
				part["metadata"] = map[string]any{"annotations": own}
			}
			return w.merge(ctx, c, h, part)
		})
	},
	"json-patch": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		ops := []map[string]any{{"op": "replace", "path": c.path, "value": c.value(h)}}
		if c.gvk.Kind == "Deployment" {
			ops = append(ops, map[string]any{"op": "replace", "path": "/spec/replicas", "value": h.Spec.Replicas})
		}
		return w.raw(ctx, c, h, types.JSONPatchType, ops)
	},
	"apply": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.client.Apply(ctx, c.applied(h), owner, client.ForceOwnership)
	},
	"apply-unstructured": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		return w.client.Apply(
			ctx,
			client.ApplyConfigurationFromUnstructured(c.described(h)),
			owner,
			client.ForceOwnership,
		)
	},
	"apply-again": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		obj, err := w.read(ctx, c, h)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		u := c.described(h)
		if obj != nil && len(contexts(obj)) > 0 {
			u.SetAnnotations(contexts(obj)) // an empty map would always be a change
		}
		return w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership)
	},
	"apply-patch": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		//nolint:staticcheck // as long as operators use it
		return w.client.Patch(ctx, c.described(h), client.Apply, owner, client.ForceOwnership)
	},
	"apply-patch-typed": func(ctx context.Context, w *hand, c child, h *v1alpha1.Head) error {
		//nolint:staticcheck // as long as operators use it
		return w.client.Patch(ctx, c.fresh(h), client.Apply, owner, client.ForceOwnership)
	},
}

const owner = client.FieldOwner("kit")

// reads reports whether a style reads the child before the write.
func reads(style string) bool {
	switch style {
	case "merge-raw", "merge-raw-null", "json-patch", "apply", "apply-unstructured", "apply-patch", "apply-patch-typed":
		return false
	}
	return true
}

// both returns a client that gets objects from the reader.
func (w *hand) both() client.Client { return reading{w.client, w.reader} }

type reading struct {
	client.Client
	reader client.Reader
}

// Get reads from the reader.
func (r reading) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return r.reader.Get(ctx, key, obj, opts...)
}

func (w *hand) read(ctx context.Context, c child, h *v1alpha1.Head) (client.Object, error) {
	obj := c.empty()
	if err := w.reader.Get(ctx, client.ObjectKeyFromObject(h), obj); err != nil {
		return nil, err
	}
	return obj, nil
}

func (w *hand) create(ctx context.Context, c child, h *v1alpha1.Head) error {
	return client.IgnoreAlreadyExists(w.client.Create(ctx, c.fresh(h)))
}

// edit reads a child and calls write; it creates a missing child.
func (w *hand) edit(ctx context.Context, c child, h *v1alpha1.Head, write func(client.Object) error) error {
	obj, err := w.read(ctx, c, h)
	if apierrors.IsNotFound(err) {
		return w.create(ctx, c, h)
	}
	if err != nil {
		return err
	}
	return write(obj)
}

func (w *hand) merge(ctx context.Context, c child, h *v1alpha1.Head, part map[string]any) error {
	return w.raw(ctx, c, h, types.MergePatchType, part)
}

// raw sends a patch without reading the child; it creates a missing child.
func (w *hand) raw(ctx context.Context, c child, h *v1alpha1.Head, kind types.PatchType, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	obj := c.empty()
	obj.SetName(h.Name)
	obj.SetNamespace(h.Namespace)
	if err := w.client.Patch(ctx, obj, client.RawPatch(kind, text)); !apierrors.IsNotFound(err) {
		return err
	}
	return w.create(ctx, c, h)
}

// others returns an object's annotations of the Deployment controller, without the context. A
// writer that ignores contexts must keep these, because the controller would restore them.
func others(obj client.Object) map[string]string {
	var kept map[string]string
	for k, v := range obj.GetAnnotations() {
		if strings.HasPrefix(k, "deployment.kubernetes.io/") {
			kept = map[string]string{k: v}
		}
	}
	return kept
}

// contexts returns an object's annotations of a context.
func contexts(obj client.Object) map[string]string {
	own := map[string]string{}
	for k, v := range obj.GetAnnotations() {
		if lifeline.Default.Owns(k) {
			own[k] = v
		}
	}
	return own
}
