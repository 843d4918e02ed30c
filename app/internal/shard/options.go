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

// Options configure a Member and its work.
type Options struct {
	// Client reads and writes Leases. Its requests should have a timeout, and no rate limit that it
	// shares with others.
	Client coordinationclient.LeasesGetter
	// Namespace is the namespace of the Leases. Name is the group's name and the prefix of theirs.
	Namespace, Name string
	// Identity distinguishes this member from the others. It is part of its Lease's name. A process
	// that returns with its store and its identity resumes. Without its store, it gets the
	// resourceVersion to read from.
	Identity string

	// LeaseDuration is the time without a renewal after which others consider a member gone.
	// RenewDeadline is the time without a renewal after which a member stops handing out.
	// RetryPeriod is the time between renewals. Each has to be shorter than the previous one.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// Grace is the time for which a stopping member continues with its own parts, while others take
	// over new ones. With 0 it stops at once: it should return soon, or its Lease expires.
	Grace time.Duration

	// Recall is the time for which a member publishes finished work as open. Heirs then read back
	// that far. A leaving member stays that much longer, within Grace, for late data. 0 disables
	// it.
	Recall time.Duration

	// Hooks do the member's work.
	Hooks Hooks
	// Log receives changes and retried failures; nil means no log.
	Log *slog.Logger
}

// Hooks connect a Member with the observer, the store and the sender. All are required. They are
// called in the goroutine of Run and should return soon.
type Hooks struct {
	// OnView gets each View that differs from the previous one. After its return, no older View may
	// be used. It does not wait for new namespaces (Changes).
	OnView func(v View)
	// Ready reports whether all namespaces of v (View.Observe) are observed, and all inherited work
	// is read up to now.
	Ready func(v View) bool
	// Seen returns the highest observed resourceVersion of any stream, with bookmarks.
	Seen func() uint64
	// Open returns the resourceVersion below which all work is done. It is the lowest View.Since of
	// a trace that is not finished, stored and delivered. Without such a trace it is one more than
	// the lowest position of all streams. 0 means unknown.
	Open func() uint64
	// Complete returns the resourceVersion up to which all late data of the stored traces are
	// stored, too.
	Complete func() uint64
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
	case h.OnView == nil || h.Ready == nil || h.Seen == nil || h.Open == nil || h.Complete == nil:
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
