// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kube-lifeline/lifeline/app/internal/replica"
)

// Options say who a Member is, and who does its work.
type Options struct {
	// Client reads and writes Leases. Its requests should have a timeout,
	// and no limit of rate that others use up.
	Client coordinationclient.LeasesGetter
	// Namespace is where the Leases are; Name is that of the group, and the
	// beginning of theirs.
	Namespace, Name string
	// Identity tells this member from the others; it is part of the name of
	// its Lease. A process that comes back with its store keeps its identity,
	// and goes on; one that comes back without is told where to read from.
	Identity string

	// LeaseDuration is after what time others believe a member gone that does
	// not renew; RenewDeadline for how long a member hands out without
	// renewing; RetryPeriod is the time between renewals. Each has to be
	// shorter than the one before.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// Grace is for how long a member that is stopped goes on with what it owns,
	// while others take over what begins. With 0 it stops without a word: it is
	// to come back soon, or the others find out.
	Grace time.Duration

	// Recall is for how long a member says of what it has finished that it had
	// not: heirs read again from there, and a member that leaves stays so much
	// longer, within Grace, for what comes late. 0 is not at all.
	Recall time.Duration

	// Hooks are the member's work.
	Hooks Hooks
	// Log is told of changes, and of what fails and is tried again; nil for
	// nobody.
	Log *slog.Logger
}

// Hooks connect a Member with what observes, stores and sends. All have to be
// given. They are called from the goroutine of Run and should return soon.
type Hooks struct {
	// OnView brings a View that differs from the one before. When it returns,
	// nothing is handed out by an older one. What has to be observed from now
	// on is begun elsewhere (Changes).
	OnView func(v View)
	// Ready reports whether all that v asks for (View.Observe) is being
	// observed, and what was inherited has been read up to now.
	Ready func(v View) bool
	// Seen returns the highest resourceVersion that was observed in any
	// stream, bookmarks included.
	Seen func() uint64
	// Open returns the resourceVersion below which nothing is left to do: the
	// lowest that View.Since gives for a trace that has not been finished,
	// stored and delivered; if there is none, one more than that up to which
	// every stream has been observed. 0 if nothing is known.
	Open func() uint64
	// Told returns the resourceVersion up to which all that came late of what is
	// stored here has been stored, too.
	Told func() uint64
}

func (o *Options) validate() error {
	switch h := o.Hooks; {
	case o.Client == nil:
		return errors.New("cannot join a group: no client")
	case o.Namespace == "":
		return errors.New("cannot join a group: the namespace of its Leases is empty; set replicas.namespace")
	case o.Recall < 0 || o.Grace > 0 && o.Recall >= o.Grace:
		return fmt.Errorf(
			"cannot join a group: recall of %s is negative, or not less than the grace of %s",
			o.Recall,
			o.Grace,
		)
	case o.Grace < 0:
		return fmt.Errorf("cannot join a group: grace of %s is negative", o.Grace)
	case h.OnView == nil || h.Ready == nil || h.Seen == nil || h.Open == nil || h.Told == nil:
		return errors.New("cannot join a group: a hook is missing")
	}
	if wrong := validation.IsValidLabelValue(o.Name); o.Name == "" || len(wrong) > 0 {
		return fmt.Errorf(
			"cannot join group %q: the name is no label: set replicas.name (%s)",
			o.Name,
			strings.Join(wrong, "; "),
		)
	}
	if wrong := validation.IsDNS1123Subdomain(memberName(o.Name, o.Identity)); o.Identity == "" || len(wrong) > 0 {
		return fmt.Errorf(
			"cannot join group %s as %q: a Lease cannot have this name: set replicas.identity (%s)",
			o.Name,
			o.Identity,
			strings.Join(wrong, "; "),
		)
	}
	return replica.CheckDurations(o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
}
