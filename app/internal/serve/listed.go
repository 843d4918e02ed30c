// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// listed waits until all that is watched was listed once. What the API server fails
// to list, as it does where the conversion webhook of a kind has gone, holds up the
// rest for about patience. It is an error only if ctx ends.
func (s *server) listed(ctx context.Context, patience time.Duration) error {
	for before := s.watcher.Stats(); ; {
		waiting, cancel := context.WithTimeout(ctx, patience)
		err := s.watcher.Synced(waiting)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		now := s.watcher.Stats()
		if failing := unlistable(before, now); len(failing) > 0 {
			s.log.Warn(
				"the API server fails to list some kinds; continuing without them",
				"resources",
				strings.Join(failing, ", "),
			)
			return nil
		}
		before = now
	}
}

// unlistable names the resources that are all that is not shown, if it is the API
// server that has failed to list each of them since before; none if there is
// another one, which may be large, or if nothing is shown at all.
func unlistable(before, now watch.Stats) []string {
	failed := map[string]uint64{}
	for _, r := range before.Resources {
		failed[r.Resource.String()] = r.Errors["server"]
	}
	var out []string
	for _, r := range now.Resources {
		if r.Connected+r.Unreadable == r.Streams {
			continue
		}
		name := r.Resource.String()
		if r.Errors["server"] == failed[name] {
			return nil
		}
		out = append(out, name)
	}
	if !connected(now) {
		return nil
	}
	return out
}
