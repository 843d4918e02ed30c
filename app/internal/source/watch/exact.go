// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exactTimeout bounds one page of the state at a past resourceVersion. A server that has not
// reached the version waits for it, and client-go waits for the server.
const exactTimeout = 10 * time.Second

var errNoAnswer = errors.New("the API server did not list the state at a resourceVersion in time")

// exactPage is page with exactTimeout.
func (r *reader) exactPage(ctx context.Context, opts metav1.ListOptions) (page, error) {
	askedIn(ctx).patient = true
	ctx, cancel := context.WithTimeoutCause(ctx, exactTimeout, errNoAnswer)
	defer cancel()
	p, err := r.page(ctx, opts)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return page{}, errNoAnswer
	}
	return p, err
}

// compareVersions checks whether since is a version of the same storage. Large clusters keep Events
// in a separate etcd, whose versions are not comparable. A list at a version that the storage has
// not reached would block.
func (s *stream) compareVersions(ctx context.Context) error {
	if s.progress.stage != startAt || !isEvents(s.read.resource) {
		return nil
	}
	p, err := s.read.page(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	if version, err := strconv.ParseUint(p.version, 10, 64); err != nil || version < s.since {
		s.progress.inexact()
	}
	return nil
}
