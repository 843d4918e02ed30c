// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// renew renews the member's Lease and writes s to it.
func (m *Member) renew(ctx context.Context, s State) error {
	leases, name := m.o.Client.Leases(m.o.Namespace), memberName(m.o.Name, m.o.Identity)
	lease, err := m.mine(ctx, name)
	if err != nil {
		return err
	}
	if !m.took && lease.ResourceVersion != "" { // of an earlier process
		var before State
		if err := get(lease, AnnotationState, &before); err != nil {
			return err
		}
		m.left = max(before.Done, 1)
		s.Since, s.Done = min(s.Since, before.Since), min(s.Done, before.Done)
	}
	if err := put(lease, AnnotationState, s); err != nil {
		return err
	}
	seconds, now := int32(m.o.LeaseDuration/time.Second), metav1.NowMicro() //nolint:gosec // a duration of seconds
	lease.Labels[LabelGroup] = m.o.Name
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &m.instance, &seconds, &now
	var written *coordinationv1.Lease
	if lease.ResourceVersion == "" {
		written, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		written, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		m.own = nil // read it again
		return fmt.Errorf("cannot renew Lease %s/%s: %w", m.o.Namespace, name, err)
	}
	m.own, m.sent, m.took = written, s, true
	return nil
}

// mine returns the member's Lease, or a new one to create.
func (m *Member) mine(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	if m.own != nil {
		return m.own.DeepCopy(), nil
	}
	lease, err := m.o.Client.Leases(m.o.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return newLease(&m.o, name), nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read Lease %s/%s: %w", m.o.Namespace, name, err)
	}
	holder := lease.Spec.HolderIdentity
	if m.took && holder != nil && *holder != m.instance {
		return nil, fmt.Errorf(
			"cannot renew Lease %s/%s: %w, instance %q; set replicas.identity",
			m.o.Namespace,
			name,
			ErrIdentity,
			*holder,
		)
	}
	return lease, nil
}

// look reads all Leases of the group. It returns the members' statuses and the Lease with the
// Table, nil without one.
func (m *Member) look(ctx context.Context, asked time.Time) ([]Status, *coordinationv1.Lease, error) {
	list, err := m.o.Client.Leases(m.o.Namespace).List(
		ctx,
		metav1.ListOptions{LabelSelector: LabelGroup + "=" + m.o.Name},
	)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the Leases of group %s in %s: %w", m.o.Name, m.o.Namespace, err)
	}
	statuses := m.watcher.statuses(&m.o, list.Items, asked, time.Now())
	for i := range list.Items {
		if list.Items[i].Name == tableName(m.o.Name) {
			return statuses, &list.Items[i], nil
		}
	}
	return statuses, nil, nil
}

// plan returns the published Table, after a step if one is due. It restores a Table that was
// deleted or reset to an older one.
func (m *Member) plan(ctx context.Context, lease *coordinationv1.Lease, statuses []Status) (Table, error) {
	m.mu.Lock()
	known := m.view.table
	m.mu.Unlock()
	var published Table
	if lease == nil {
		lease = newLease(&m.o, tableName(m.o.Name))
	} else {
		var err error
		if published, err = readTable(lease); err != nil {
			return Table{}, err
		}
	}
	base := published
	if base.Version < known.Version {
		base = known
	}
	next, changed := Plan(base, statuses)
	if !changed && base.Version == published.Version {
		return published, nil
	}
	if err := put(lease, AnnotationTable, next); err != nil {
		return Table{}, err
	}
	lease.Labels[LabelGroup] = m.o.Name
	lease.Spec.HolderIdentity = &m.instance
	var err error
	if leases := m.o.Client.Leases(m.o.Namespace); lease.ResourceVersion == "" {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		return next, nil
	case (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && published.Version >= known.Version:
		return published, nil // another was faster; the next look returns its Table
	}
	return Table{}, fmt.Errorf("cannot write Lease %s/%s: %w", m.o.Namespace, lease.Name, err)
}

// clean deletes the Leases of members without any role. Its error gives the reason for a Lease that
// stays, which is harmless.
func (m *Member) clean(ctx context.Context, t Table, statuses []Status) error {
	var failed error
	needed := t.live()
	if t.Pending != nil {
		needed = append(needed, t.Pending.Members...)
	}
	for _, s := range statuses {
		if s.alive() || s.Identity == m.o.Identity || slices.Contains(needed, s.Identity) {
			continue
		}
		name := memberName(m.o.Name, s.Identity)
		version := m.watcher.seen[name].version
		err := m.o.Client.Leases(m.o.Namespace).Delete(
			ctx,
			name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}},
		)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && failed == nil {
			failed = fmt.Errorf("cannot delete Lease %s/%s of a gone member: %w", m.o.Namespace, name, err)
		}
	}
	return failed
}
