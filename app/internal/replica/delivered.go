// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// AnnotationDelivered is the annotation with the leader's time of delivery, as RFC 3339 with
	// nanoseconds.
	AnnotationDelivered = "lifeline.dev/delivered"
	// Margin is subtracted before a standby forgets queued entries. Its clock may differ from the
	// leader's. It may also have seen a change, and found its trace settled, before the leader did.
	// If the leader's clock is ahead by more, that is detected; if it is behind, the standby keeps
	// entries longer.
	Margin = time.Minute
	// deliveredEvery is the interval of publishing or reading the delivery time.
	deliveredEvery = 5 * time.Second
)

// told is the leader's published time.
type told struct {
	o    *Options
	last time.Time
}

// publish publishes that everything up to t was delivered. A time not later than the published one
// changes nothing.
func (d *told) publish(ctx context.Context, t time.Time) error {
	if t.IsZero() || !t.After(d.last) {
		return nil
	}
	leases, name, text := d.o.Client.Leases(d.o.Namespace), d.o.Name+"-delivered", t.UTC().Format(time.RFC3339Nano)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: d.o.Namespace, Annotations: map[string]string{AnnotationDelivered: text},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &d.o.Identity},
		}, metav1.CreateOptions{})
	case err == nil:
		if known, parsed := parse(lease); parsed == nil && !t.After(known) && !known.After(time.Now().Add(Margin)) {
			d.last = known // published by an earlier leader
			return nil
		}
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[AnnotationDelivered], lease.Spec.HolderIdentity = text, &d.o.Identity
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot write to Lease %s/%s what was delivered: %w", d.o.Namespace, name, err)
	}
	d.last = t
	return nil
}

// read returns the time up to which everything was delivered, less Margin; zero without a published
// time.
func (d *told) read(ctx context.Context, now time.Time) (time.Time, error) {
	name := d.o.Name + "-delivered"
	lease, err := d.o.Client.Leases(d.o.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read from Lease %s/%s what was delivered: %w", d.o.Namespace, name, err)
	}
	t, err := parse(lease)
	if err != nil {
		return time.Time{}, err
	}
	if t.After(now.Add(Margin)) {
		return time.Time{}, fmt.Errorf("the leader's clock is ahead by more than %s: it says in Lease %s/%s that "+
			"everything until %s was delivered, and here it is %s; nothing is forgotten until the clocks agree",
			Margin, d.o.Namespace, name, t.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if !t.IsZero() {
		t = t.Add(-Margin)
	}
	return t, nil
}

func parse(lease *coordinationv1.Lease) (time.Time, error) {
	text := lease.Annotations[AnnotationDelivered]
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read annotation %s of Lease %s/%s: %q is no time", AnnotationDelivered,
			lease.Namespace, lease.Name, object.Bound(text))
	}
	return t, nil
}
