// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// listed gives a channel that is closed when the watcher has listed once all
// that it is to watch, or has tried for long enough: from then on no change is
// missed. stop ends the waiting.
func listed(ctx context.Context, w *watch.Watcher) (done <-chan struct{}, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	all := make(chan struct{})
	go func() {
		defer close(all)
		_ = w.Synced(ctx) // what could not be listed was said by the watcher
	}()
	return all, func() {
		cancel()
		<-all
	}
}
