// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client decorates c. It traces writes in a reconcile, in an admission request or in another span.
// A write becomes a span if it changed something or failed, and the written object carries a
// context (P1). Client sends no requests of its own and causes no additional writes: an update
// without a change stays one (P3). Dry runs are passed through.
func (k *Kit) Client(c client.Client) client.Client { return &tracedClient{Client: c, kit: k} }

type tracedClient struct {
	client.Client
	kit     *Kit
	manager string // field manager of writes that name none; "" if unknown
}

// Create writes a new object with a context.
func (t *tracedClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	o := client.CreateOptions{}
	c := t.begin(ctx, "create", "", obj, len(o.ApplyOptions(opts).DryRun) > 0)
	if c == nil {
		return t.Client.Create(ctx, obj, opts...)
	}
	before := obj.GetAnnotations()
	c.create(obj)
	err := t.Client.Create(c.ctx, obj, opts...)
	if err != nil {
		obj.SetAnnotations(before)
	}
	c.end(err, obj)
	return err
}

// Update writes a whole object. The object gets a new context if its desired state changes, and
// keeps its context otherwise.
func (t *tracedClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	o := client.UpdateOptions{}
	o.ApplyOptions(opts)
	c := t.begin(ctx, "update", "", obj, len(o.DryRun) > 0)
	if c == nil {
		return t.Client.Update(ctx, obj, opts...)
	}
	c.manager = cmp.Or(o.FieldManager, t.manager)
	before := obj.GetAnnotations()
	c.update(obj)
	err := t.Client.Update(c.ctx, obj, opts...)
	if err != nil {
		obj.SetAnnotations(before)
	}
	c.end(err, obj)
	return err
}

// Patch writes a part of an object, with a context if the desired state changes.
func (t *tracedClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	o := client.PatchOptions{}
	o.ApplyOptions(opts)
	c := t.begin(ctx, "patch", "", obj, len(o.DryRun) > 0)
	if c == nil {
		return t.Client.Patch(ctx, obj, patch, opts...)
	}
	c.manager, c.applies = cmp.Or(o.FieldManager, t.manager), patch.Type() == types.ApplyPatchType
	c.force = ptr.Deref(o.Force, false)
	err := t.Client.Patch(c.ctx, obj, c.patch(obj, patch), opts...)
	c.end(err, obj)
	return err
}

// Apply writes the caller's fields. Their context stays the same while the fields do.
func (t *tracedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := client.ApplyOptions{}
	o.ApplyOptions(opts)
	sent := described(obj)
	if sent == nil {
		return t.Client.Apply(ctx, obj, opts...)
	}
	c := t.begin(ctx, "apply", "", sent, len(o.DryRun) > 0)
	if c == nil {
		return t.Client.Apply(ctx, obj, opts...)
	}
	c.manager, c.applies, c.force = cmp.Or(o.FieldManager, t.manager), true, ptr.Deref(o.Force, false)
	err := c.apply(t.Client, obj, sent, opts...)
	c.end(err, sent)
	return err
}

// Delete deletes an object.
func (t *tracedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	c := t.begin(ctx, "delete", "", obj, len(o.ApplyOptions(opts).DryRun) > 0)
	if c == nil {
		return t.Client.Delete(ctx, obj, opts...)
	}
	err := t.Client.Delete(c.ctx, obj, opts...)
	c.end(err, nil)
	return err
}

// DeleteAllOf deletes objects. The response does not say whether there were any. Therefore the
// write has a span only in a reconcile that has one anyway.
func (t *tracedClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	o := client.DeleteAllOfOptions{}
	c := t.begin(ctx, "delete", "", obj, len(o.ApplyOptions(opts).DryRun) > 0)
	if c == nil {
		return t.Client.DeleteAllOf(ctx, obj, opts...)
	}
	c.collection = true
	err := t.Client.DeleteAllOf(c.ctx, obj, opts...)
	c.end(err, nil)
	return err
}

// Get reads one object. With WithReads, a read without an informer becomes a span.
func (t *tracedClient) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	ctx, done := t.read(ctx, "get", obj)
	err := t.Client.Get(ctx, key, obj, opts...)
	done(err)
	if err == nil {
		t.kit.note(ctx, obj, t.Scheme())
	}
	return err
}

// List reads many objects. Its spans are like those of Get.
func (t *tracedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	ctx, done := t.read(ctx, "list", list)
	err := t.Client.List(ctx, list, opts...)
	done(err)
	return err
}

// Status returns a client for the status subresource.
func (t *tracedClient) Status() client.SubResourceWriter {
	return &tracedSubresource{t.Client.SubResource("status"), t.Client.Status(), t, "status"}
}

// SubResource returns a client for a subresource.
func (t *tracedClient) SubResource(name string) client.SubResourceClient {
	c := t.Client.SubResource(name)
	return &tracedSubresource{c, c, t, name}
}
