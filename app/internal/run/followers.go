// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// followers watch the parts of the clusters that the command wrote to.
type followers struct {
	ctx      context.Context
	pipeline *pipeline.Pipeline
	// config returns the client configuration of an upstream.
	config func(upstream string) *rest.Config

	mu       sync.Mutex
	watchers map[string]*watch.Watcher
	waits    sync.WaitGroup
}

// wrote follows the possible effects of a write.
func (f *followers) wrote(w proxy.Written) {
	if watcher := f.of(w.Upstream); watcher != nil {
		watcher.Follow(f.ctx, w.Resource, w.Namespace, w.Since)
	}
}

// budgets are what may refuse an eviction.
var budgets = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}

// refused looks at the object of a refused write, so that its state can be said beside the refusal. There is nothing
// to see after an answer that the object does not exist, or that the user lacks a right.
func (f *followers) refused(w proxy.Written) {
	eviction := w.Write.Subresource == "eviction"
	if w.Write.Name == "" ||
		!eviction && w.Write.Code != http.StatusConflict && w.Write.Code != http.StatusUnprocessableEntity {
		return
	}
	watcher := f.of(w.Upstream)
	if watcher == nil {
		return
	}
	f.waits.Go(func() {
		_, _ = watcher.Look(f.ctx, w.Resource, w.Namespace, w.Write.Name)
		if eviction {
			_, _ = watcher.Look(f.ctx, budgets, w.Namespace, "")
		}
	})
}

func (f *followers) of(upstream string) *watch.Watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w, ok := f.watchers[upstream]; ok {
		return w
	}
	if f.watchers == nil {
		f.watchers = map[string]*watch.Watcher{}
	}
	cfg := f.config(upstream)
	if cfg == nil {
		return nil // the command used another credential; there is none for a watch
	}
	w, err := f.pipeline.Watcher(cfg)
	if err != nil {
		f.pipeline.Say("%v", err)
	}
	f.watchers[upstream] = w
	return w
}

func (f *followers) all() []*watch.Watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*watch.Watcher
	for _, w := range f.watchers {
		if w != nil {
			all = append(all, w)
		}
	}
	return all
}

func (f *followers) close() {
	for _, w := range f.all() {
		w.Close()
	}
	f.waits.Wait()
}
