// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator/queue"
)

// heads is a controller on plain client-go.
type heads struct {
	store cache.Store
	queue queue.Queue[string]
}

// OnUpdate is the event handler of the informer.
func (c *heads) OnUpdate(obj *metav1.PartialObjectMetadata) {
	c.queue.From(lifeline.Extract(obj)).Add(obj.GetName())
}

// worker is the complete worker loop.
func (c *heads) worker(ctx context.Context) {
	for c.next(ctx) {
	}
}

func (c *heads) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)

	ctx, work := c.queue.Begin(ctx, key) // 1
	err := c.sync(ctx, key)
	work.End(ctx, err) // 2
	if err == nil {
		c.queue.Forget(key)
	} else {
		c.queue.AddRateLimited(key)
	}
	return true
}

func (c *heads) sync(ctx context.Context, key string) error {
	item, exists, err := c.store.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	head := item.(*metav1.PartialObjectMetadata)
	work := queue.WorkFrom(ctx)
	work.SetParent(lifeline.Extract(head)) // 3
	work.SetAttributes(attribute.String("k8s.object.name", head.Name))

	switch head.Labels["case"] {
	case "new":
		ctx = work.Start(ctx) // before the first write
		return c.write(ctx, head)
	case "broken":
		return errors.New("no such image")
	}
	return nil // nothing to do, no span
}

func (c *heads) write(context.Context, *metav1.PartialObjectMetadata) error { return nil }

func Example() {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))

	c := &heads{
		store: cache.NewStore(cache.MetaNamespaceKeyFunc),
		queue: queue.New(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "head-controller"},
			queue.WithTracerProvider(provider)),
	}
	for _, what := range []string{"new", "settled", "broken"} {
		head := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name:   what,
			Labels: map[string]string{"case": what},
			Annotations: map[string]string{
				"trace.kubernetes.io/context": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			},
		}}
		if err := c.store.Add(head); err != nil {
			fmt.Println(err)
			return
		}
		c.OnUpdate(head)
	}
	c.queue.ShutDown() // after the queued items
	c.worker(context.Background())

	for _, span := range spans.Ended() {
		fmt.Printf("%s %s %q\n", span.Parent().SpanID(), span.Name(), span.Status().Description)
	}
	// Output:
	// b7ad6b7169203331 queue wait ""
	// b7ad6b7169203331 head-controller reconcile ""
	// b7ad6b7169203331 queue wait ""
	// b7ad6b7169203331 head-controller reconcile "no such image"
}
