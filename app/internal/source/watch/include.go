// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxVisits bounds the concurrent visits of Include.
const maxVisits = 64

// Include emits, as Baseline, the objects in a namespace that Config.Wanted has just accepted. It
// covers every resource that is watched in all namespaces. Live changes need no Include.
//
// With a resourceVersion since, the Baseline is the exact state at that version, and every later
// change follows as Listed. If since is 0 or the API server has discarded the version, the present
// is the Baseline. Nothing is lost in between, but duplicates are possible.
//
// Include returns at once; Synced waits for it. ctx bounds its work.
func (w *Watcher) Include(ctx context.Context, namespace string, since uint64) {
	if namespace == "" {
		return // always wanted
	}
	w.background(ctx, func(ctx context.Context) {
		var visits sync.WaitGroup
		for _, of := range w.wide() {
			visit := w.visit(of, namespace, since)
			visits.Go(func() {
				select {
				case w.visits <- struct{}{}:
					defer func() { <-w.visits }()
					visit.run(ctx)
				case <-ctx.Done():
				}
			})
		}
		visits.Wait()
	})
}

// Left drops the records of a namespace that Config.Wanted no longer accepts. Its objects are not
// reported as gone.
func (w *Watcher) Left(namespace string) {
	if namespace == "" {
		return
	}
	for _, s := range w.wide() {
		s.releaseNamespace(namespace)
	}
}

// wide returns the streams that watch a namespaced resource in all namespaces.
func (w *Watcher) wide() []*stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wide []*stream
	for k, s := range w.streams {
		if k.namespace == "" && k.name == "" && w.known.inNamespaces(k.GroupResource) {
			wide = append(wide, s)
		}
	}
	return wide
}

// visit returns a stream for one namespace of another stream's resource. It ends when the other
// stream covers the namespace.
func (w *Watcher) visit(of *stream, namespace string, since uint64) *stream {
	of.mu.Lock()
	p := of.plan
	of.mu.Unlock()
	p.namespace, p.since, p.quiet = namespace, since, true
	p.seen = func(_ *stream, o *observation.Observation) {
		if of.adopt(o) {
			w.hand(o)
		}
	}
	s := w.newStream(p)
	s.visiting, s.behind, s.count = true, true, of.count
	s.began.Store(of.began.Load())
	s.ready.Do(func() {}) // the whole Include counts as one
	return s
}

// visited reports whether a visiting stream is done. The other stream shows all changes stored
// after the visit began. It may have dropped earlier ones; the list of the present, or the changes
// up to late, show those.
func (s *stream) visited() bool {
	return s.visiting && s.version != "" && (s.since == 0 || s.inexact || !s.behind)
}

func (s *stream) releaseNamespace(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, h := range s.objects {
		if h.namespace == namespace {
			delete(s.objects, uid)
		}
	}
}

// wants reports whether objects in a namespace are of interest.
func (w *Watcher) wants(namespace string) bool {
	return namespace == "" || w.wanted == nil || w.wanted(namespace)
}

// unwanted reports whether an object is dropped. An Event counts as the object that it regards.
// Events of cluster-scoped objects are in namespace default.
func (s *stream) unwanted(obj metav1.Object) bool {
	if s.w.wants(obj.GetNamespace()) {
		return false
	}
	if s.isEvents() && obj.GetNamespace() == metav1.NamespaceDefault {
		o := s.observe(obj)
		return o == nil || o.Event == nil || o.Event.Regarding.Namespace != ""
	}
	return true
}
