// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// briefTimeout is the timeout, in seconds, of a watch opened for a bookmark. The API server sends a
// bookmark two seconds before a watch ends.
const briefTimeout = 3

// Hurry requests a bookmark for every stream, so that Config.Reached receives current positions
// within a few seconds. Without it, the API server sends a bookmark about once a minute for an idle
// resource, and that bookmark may be old. Hurry costs three requests for each stream, and returns
// at once.
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

// Follows reports whether the stream of position p is running. The stream of a removed resource is
// not.
func (w *Watcher) Follows(p Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[p.key()] != nil
}

// beBrief prepares a short watch that brings a bookmark soon; the caller ends the current watch.
// The list makes the API server read the current version from its storage.
func (s *stream) beBrief(ctx context.Context) error {
	if _, err := s.listPage(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	s.brief = true
	return nil
}
