// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Elect takes part in the election until ctx ends. It then stops leading, releases the Lease if
// possible, and returns nil. An error means that o is invalid. OnLead is called from one goroutine.
func Elect(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := term(ctx, &o); err != nil {
			return err
		}
		select { // after a failed renewal, let others go first
		case <-ctx.Done():
		case <-time.After(o.RetryPeriod):
		}
	}
	return nil
}

// term takes part until the process has lost the lead, or until ctx ends.
func term(ctx context.Context, o *Options) error {
	l := &lock{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Client:     o.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}, o: o, renewed: make(chan time.Time), closed: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, Name: o.Name,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {},
		},
		ReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	// The elector releases the Lease before it reports the loss. Its context must therefore end
	// only after OnLead(false) has returned, not with ctx.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(electing) }()

	watch(ctx, o, l, ended)
	close(l.closed)
	stop()
	<-ended
	return nil
}

// watch calls OnLead until the term ends. It does not rely on the elector's timers. A leader stops
// RenewDeadline after the start of its last successful renewal request.
func watch(ctx context.Context, o *Options, l *lock, ended <-chan struct{}) {
	leading := false
	deadline := time.NewTimer(o.RenewDeadline)
	deadline.Stop()
	defer deadline.Stop()
	defer func() {
		if leading {
			o.lead(false)
		}
	}()
	for {
		select {
		case at := <-l.renewed:
			left := time.Until(at.Add(o.RenewDeadline))
			if left <= 0 {
				return // the response came too late
			}
			deadline.Reset(left)
			if !leading {
				leading = true
				o.lead(true)
			}
		case <-deadline.C:
			o.log().Warn("cannot renew the Lease: leading no more", "lease", o.Namespace+"/"+o.Name)
			return
		case <-ctx.Done():
			return
		case <-ended:
			return
		}
	}
}

func (o *Options) lead(leading bool) {
	o.log().Info("leadership", "leading", leading, "lease", o.Namespace+"/"+o.Name, "identity", o.Identity)
	if o.OnLead != nil {
		o.OnLead(leading)
	}
}

// lock reports the start times of requests that acquired or renewed the Lease. Only the elector's
// goroutine calls it.
type lock struct {
	resourcelock.Interface
	o       *Options
	failed  string
	renewed chan time.Time
	closed  chan struct{}
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.tell(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.tell(r, func() error { return l.Interface.Update(ctx, r) })
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := l.Interface.Get(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		l.warn("read", err)
	}
	return r, raw, err
}

// warn logs a failure, and logs again only for another reason. A lost race with another process is
// not a failure.
func (l *lock) warn(verb string, err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled) {
		return
	}
	if text := err.Error(); text != l.failed {
		l.failed = text
		l.o.log().Warn("cannot "+verb+" the Lease; trying again", "lease", l.Describe(), "error", advise(err))
	}
}

func (l *lock) tell(r resourcelock.LeaderElectionRecord, do func() error) error {
	began := time.Now()
	err := do()
	if err != nil {
		l.warn("write", err)
	} else {
		l.failed = ""
	}
	if err == nil && r.HolderIdentity == l.Identity() {
		select {
		case l.renewed <- began:
		case <-l.closed:
		}
	}
	return err
}
