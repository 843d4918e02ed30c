// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// briefTimeout is the timeout, in seconds, of a watch that is opened for a
// bookmark: the API server sends one two seconds before a watch ends.
const briefTimeout = 3

// Hurry asks for every stream how far it has come, so that Config.Reached is told
// of the present in a few seconds. By itself, the API server says it about once a
// minute of a resource that nothing happens to, and then perhaps what it was long
// ago. It costs three requests for each stream, and returns at once.
func (w *Watcher) Hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		select {
		case s.hurry <- struct{}{}:
		default:
		}
	}
}

// Follows reports whether the stream is under way that p is a position of: one
// whose resource was removed tells of nothing any more.
func (w *Watcher) Follows(p Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[p.key()] != nil
}

// beBrief ends a watch in favour of one that brings a bookmark soon. The list
// makes the API server ask its storage for the present.
func (s *stream) beBrief(ctx context.Context) error {
	if _, err := s.listPage(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	s.brief = true
	return nil
}
