// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// learns reports whether the values of the present objects must be learned beside the watch: it continues an
// earlier process, and values are never stored.
func (s *stream) learns() bool {
	return s.progress.stage == follow && s.read.values && !isEvents(s.resource)
}

// learnAttempts bounds the lists of one resource for its values.
const learnAttempts = 4

// learn lists the present objects for the values that messages must not show, and emits nothing. Without the list,
// the messages of these objects lack text until the objects change. read is a copy of the stream's reader.
func (s *stream) learn(ctx context.Context, read reader) {
	for attempt := range learnAttempts {
		if attempt > 0 {
			select {
			case <-time.After(s.pace.renew):
			case <-ctx.Done():
				return
			}
			read.jsonOnly = true // its protobuf may be unreadable
		}
		if s.learnOnce(ctx, &read) == nil {
			return
		}
	}
}

func (s *stream) learnOnce(ctx context.Context, read *reader) error {
	select {
	case s.lists <- struct{}{}:
		defer func() { <-s.lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	read.link = s.server.link.Load()
	opts := metav1.ListOptions{Limit: s.pageSize()}
	for {
		p, err := read.page(ctx, opts)
		if err != nil {
			return err
		}
		for _, item := range p.items {
			s.converter.learn(read.resource, item)
		}
		if p.next == "" {
			return nil
		}
		opts.Continue = p.next
	}
}
