// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Run takes part in the election as Elect does. A leader publishes its delivery time. A standby
// passes each published time to OnDelivered once. OnLead and OnDelivered may be called from
// different goroutines. Failures are logged and retried; a returned error means that o is invalid.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.Delivered == nil || o.OnDelivered == nil {
		return errors.New("cannot run a replica: Delivered and OnDelivered have to be given")
	}
	var leading atomic.Bool
	onLead := o.OnLead
	o.OnLead = func(lead bool) {
		leading.Store(lead)
		if onLead != nil {
			onLead(lead)
		}
	}
	telling, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { o.tell(telling, &leading) })
	defer wg.Wait()
	defer stop()
	return Elect(ctx, o)
}

// tell publishes or reads the delivery time, until ctx ends.
func (o *Options) tell(ctx context.Context, leading *atomic.Bool) {
	ticks := time.NewTicker(deliveredEvery)
	defer ticks.Stop()
	d := told{o: o}
	var known time.Time
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		request, cancel := context.WithTimeout(ctx, deliveredEvery)
		err := d.look(request, leading.Load(), &known)
		cancel()
		if err == nil {
			failed = ""
		} else if text := err.Error(); text != failed && ctx.Err() == nil {
			failed = text
			o.log().Warn(advise(err).Error())
		}
	}
}

// look publishes the delivery time if the process leads. Otherwise it passes a time later than
// known to OnDelivered.
func (d *told) look(ctx context.Context, leading bool, known *time.Time) error {
	if leading {
		return d.publish(ctx, d.o.Delivered())
	}
	t, err := d.read(ctx, time.Now())
	if err != nil {
		return err
	}
	if t.After(*known) {
		*known = t
		d.o.OnDelivered(t)
	}
	return nil
}
