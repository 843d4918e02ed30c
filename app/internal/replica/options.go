// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Options configure an election and its callbacks.
type Options struct {
	// Client reads and writes Leases. Its requests should have a timeout, and a rate limit that no
	// other work uses.
	Client coordinationclient.LeasesGetter
	// Namespace and Name are those of the Lease, the same in the whole group.
	Namespace, Name string
	// Identity is unique to this process in the group. Two processes with one identity would both
	// lead.
	Identity string

	// LeaseDuration is how long others wait for a leader that does not renew. RenewDeadline is how
	// long a leader continues without renewing. RetryPeriod is the time between attempts. Each must
	// be shorter than the one before. LeaseDuration is in whole seconds.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// OnLead is called when the process starts or stops leading. With false, it must return only
	// after sending has stopped, within LeaseDuration less RenewDeadline. It may be nil.
	OnLead func(leading bool)

	// Delivered returns the time, by this process's clock, up to which the cluster was observed and
	// all queued spans were delivered. It is never later than the progress of the watches. Zero
	// means unknown. Only Run needs it.
	Delivered func() time.Time
	// OnDelivered reports to a standby that entries queued before t, by its clock, were delivered.
	// Margin has been subtracted. Only Run needs it.
	OnDelivered func(t time.Time)

	// Log receives failures that are retried; nil means no log.
	Log *slog.Logger
}

// validate returns an error for an invalid field.
func (o *Options) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("cannot elect a leader: no client")
	case o.Namespace == "":
		return errors.New("cannot elect a leader: the namespace of the Lease is empty; set replicas.namespace")
	case o.Name == "":
		return errors.New("cannot elect a leader: the name of the Lease is empty; set replicas.name")
	case o.Identity == "":
		return errors.New("cannot elect a leader: this process has no identity; set replicas.identity")
	}
	return checkDurations(o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
}

// checkDurations returns an error for invalid durations of a Lease, or nil.
func checkDurations(lease, renew, retry time.Duration) error {
	switch {
	case retry <= 0:
		return fmt.Errorf("retry period %s of the Lease is not positive", retry)
	case renew <= retry*3/2:
		return fmt.Errorf("renew deadline %s of the Lease leaves no time to try again: it is not longer than one and "+
			"a half retry periods of %s", renew, retry)
	case lease <= renew:
		return fmt.Errorf("lease duration %s is not longer than the renew deadline %s: two processes could lead", lease,
			renew)
	case lease%time.Second != 0:
		return fmt.Errorf("lease duration %s is not in whole seconds, as a Lease needs it", lease)
	}
	return nil
}

func (o *Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}
