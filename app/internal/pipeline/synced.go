// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// Synced returns a channel that closes when the watcher has listed all its resources once, or after
// SyncPatience. After a complete list, no change is missed. stop ends the wait.
func Synced(ctx context.Context, w *watch.Watcher) (done <-chan struct{}, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, SyncPatience)
	all := make(chan struct{})
	go func() {
		defer close(all)
		_ = w.Synced(ctx) // the watcher has warned of missing lists
	}()
	return all, func() {
		cancel()
		<-all
	}
}
