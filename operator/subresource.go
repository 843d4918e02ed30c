// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tracedSubresource is a subresource client with tracing. It sets no contexts: a subresource is not
// desired state, and the status of a custom resource could not hold one.
type tracedSubresource struct {
	client.SubResourceReader
	writer client.SubResourceWriter
	parent *tracedClient
	name   string
}

// Create writes the subresource, such as an eviction.
func (s *tracedSubresource) Create(
	ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption,
) error {
	o := client.SubResourceCreateOptions{}
	o.ApplyOptions(opts)
	c := s.parent.begin(ctx, "create", s.name, obj, len(o.DryRun) > 0)
	if c == nil {
		return s.writer.Create(ctx, obj, sub, opts...)
	}
	err := s.writer.Create(c.ctx, obj, sub, opts...)
	c.end(err, nil)
	return err
}

// Update writes the subresource.
func (s *tracedSubresource) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	o := client.SubResourceUpdateOptions{}
	o.ApplyOptions(opts)
	c := s.parent.begin(ctx, "update", s.name, obj, len(o.DryRun) > 0)
	if c == nil {
		return s.writer.Update(ctx, obj, opts...)
	}
	err := s.writer.Update(c.ctx, obj, opts...)
	answer := obj
	if o.SubResourceBody != nil {
		answer = nil // the response is in the body
	}
	c.end(err, answer)
	return err
}

// Patch writes a part of the subresource.
func (s *tracedSubresource) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	o := client.SubResourcePatchOptions{}
	o.ApplyOptions(opts)
	c := s.parent.begin(ctx, "patch", s.name, obj, len(o.DryRun) > 0)
	if c == nil {
		return s.writer.Patch(ctx, obj, patch, opts...)
	}
	c.manager, c.applies = cmp.Or(o.FieldManager, s.parent.manager), patch.Type() == types.ApplyPatchType
	err := s.writer.Patch(c.ctx, obj, patch, opts...)
	answer := obj
	if o.SubResourceBody != nil {
		answer = nil
	}
	c.end(err, answer)
	return err
}

// Apply writes the caller's fields.
func (s *tracedSubresource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	o := client.SubResourceApplyOptions{}
	o.ApplyOpts(opts)
	sent := described(obj)
	if sent == nil {
		return s.writer.Apply(ctx, obj, opts...)
	}
	c := s.parent.begin(ctx, "apply", s.name, sent, len(o.DryRun) > 0)
	if c == nil {
		return s.writer.Apply(ctx, obj, opts...)
	}
	c.manager, c.applies = cmp.Or(o.FieldManager, s.parent.manager), true
	err := s.writer.Apply(c.ctx, obj, opts...)
	c.end(err, described(obj))
	return err
}
