// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxVisits bounds how many resources are caught up with at once when a
// namespace is included.
const maxVisits = 64

// Include hands on, as Baseline, what there is in a namespace that
// Config.Wanted holds for since just now: in every resource that is watched in
// all namespaces. Its live changes need no Include.
//
// With a resourceVersion since, the Baseline is what stood there exactly, and
// every change from there follows, as Listed; if the API server does not show
// that version any more, or since is 0, the present is the Baseline. Nothing is
// lost in between; the same thing may be observed twice.
//
// Include returns at once; Synced waits for it. ctx bounds its work.
func (w *Watcher) Include(ctx context.Context, namespace string, since uint64) {
	if namespace == "" {
		return // always there
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

// Left forgets a namespace that Config.Wanted does not hold for any more. Its
// objects are not reported as gone.
func (w *Watcher) Left(namespace string) {
	if namespace == "" {
		return
	}
	for _, s := range w.wide() {
		s.releaseNamespace(namespace)
	}
}

// wide returns the streams of namespaced resources that are watched in all
// namespaces.
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

// visit returns a stream that shows one namespace of another's resource until
// the other shows it, too.
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

// visited reports whether a visiting stream is done: the other stream shows all
// that was stored after the visit began. It may have passed over what was stored
// before, which is what the list of the present shows, or the changes up to late.
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

// wants reports whether what is in a namespace is of interest.
func (w *Watcher) wants(namespace string) bool {
	return namespace == "" || w.wanted == nil || w.wanted(namespace)
}

// unwanted reports whether an object is passed over. An Event stands for the
// object that it regards: those of cluster-scoped ones are in namespace
// default.
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
