// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Options say who takes part in an election, and what it is told.
type Options struct {
	// Client reads and writes Leases. Its requests should have a timeout,
	// and no limit of rate that others use up.
	Client coordinationclient.LeasesGetter
	// Namespace and Name are those of the Lease; all of the group have the
	// same.
	Namespace, Name string
	// Identity tells this process from the others of the group. Two processes
	// with one identity would both lead.
	Identity string

	// LeaseDuration is for how long others wait for a leader that does not
	// renew; RenewDeadline for how long a leader goes on without renewing;
	// RetryPeriod is the time between attempts. Each has to be shorter than
	// the one before. LeaseDuration is in whole seconds.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// OnLead is told when the process begins to lead, and when it stops. With
	// false, it returns when nothing is being sent any more, and has
	// LeaseDuration less RenewDeadline to do so. Nil is allowed.
	OnLead func(leading bool)

	// Delivered returns the time by this process's clock up to which all that
	// the cluster has done was observed, and what was queued of it delivered.
	// So it is never later than what the watches have reached. Zero for not
	// known. Only Run needs it.
	Delivered func() time.Time
	// OnDelivered tells a standby that what it queued before t, by its own
	// clock, was delivered. Margin has been taken off. Only Run needs it.
	OnDelivered func(t time.Time)

	// Log is told of what fails and is tried again; nil for nobody.
	Log *slog.Logger
}

// validate says which field is wrong.
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
	return CheckDurations(o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
}

// CheckDurations says what is wrong with the three durations of a Lease, or
// returns nil.
func CheckDurations(lease, renew, retry time.Duration) error {
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
