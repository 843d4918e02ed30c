// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"maps"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// tracedReader is a reader whose results the Kit stores.
type tracedReader struct {
	client.Reader
	kit    *Kit
	scheme *runtime.Scheme
}

// Get reads one object.
func (r *tracedReader) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	if err == nil {
		r.kit.note(ctx, obj, r.scheme)
	}
	return err
}

// note stores an object that a work read without an informer in this form. A later write must keep
// its context.
func (k *Kit) note(ctx context.Context, obj client.Object, scheme *runtime.Scheme) {
	w := workOf(ctx)
	if w == nil || formOf(obj) == metadataOnly {
		return
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return
	}
	if _, cached := k.informers.holders.Load(informerKey{gvk, formOf(obj)}); cached {
		return
	}
	s, desired := supply.Rules{Convention: k.convention}, stateOf(obj).Desired()
	k.writes.note(objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)}, obj, desired,
		s.Own(obj.GetAnnotations()))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = map[objectKey]seen{}
	}
	if len(w.reads) < maxReads {
		w.reads[objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)}] = seen{
			obj.GetResourceVersion(),
			supply.Content{
				Annotations: maps.Clone(obj.GetAnnotations()), Desired: desired, Generation: obj.GetGeneration(),
			},
		}
	}
}

// maxReads limits the stored reads of a work.
const maxReads = 64

// seen is an object that a work read.
type seen struct {
	version string
	content supply.Content
}

// read starts the span of a read; the returned function ends it. With WithReads, an uncached read
// becomes a span if its work has a span.
func (t *tracedClient) read(ctx context.Context, verb string, obj runtime.Object) (context.Context, func(error)) {
	none := func(error) {}
	if !t.kit.reads {
		return ctx, none
	}
	w := workOf(ctx)
	if w == nil {
		return ctx, none
	}
	gvk, err := apiutil.GVKForObject(obj, t.Scheme())
	if err != nil {
		return ctx, none
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if _, cached := t.kit.informers.holders.Load(informerKey{gvk, formOf(obj)}); cached {
		return ctx, none
	}
	r := record{name: verb + " " + gvk.Kind, context: w.upcoming(), start: t.kit.clock.Now()}
	return trace.ContextWithSpanContext(ctx, r.context), func(err error) {
		r.end, r.err = t.kit.clock.Now(), err
		r.attributes = objectAttributes(gvk, "", "", "", 0)
		w.write(r, benign)
	}
}
