// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// listed waits for the first list of each watched resource. A resource that the API server fails to
// list, such as a kind without its conversion webhook, delays it by about patience. It returns an
// error only if ctx ends.
func listed(ctx context.Context, w *watch.Watcher, patience time.Duration, log *slog.Logger) error {
	for before := w.Stats(); ; {
		waiting, cancel := context.WithTimeout(ctx, patience)
		err := w.Synced(waiting)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		now := w.Stats()
		if failing := unlistable(before, now); len(failing) > 0 {
			log.Warn("the API server fails to list some kinds; continuing without them",
				"resources", strings.Join(failing, ", "))
			return nil
		}
		before = now
	}
}

// unlistable returns the names of the missing resources, if the API server has failed to list each
// of them since before. It returns none if another resource is missing, which may be large, or if
// no resource is listed.
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
