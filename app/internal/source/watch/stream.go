// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// stream lists one resource and watches it from there, for as long as its
// context lives. It keeps of each object what tells a change from a repetition,
// and what names the object when a list shows that it is gone.
//
// client-go's informers would keep the objects, and its RetryWatcher retries an
// expired resourceVersion for ever when the server answers so at once.
type stream struct {
	plan
	w      *Watcher
	cancel context.CancelFunc
	// over is not nil once the stream was told to end.
	over  func() error
	ready sync.Once
	// vanished is the version at which the resource itself was removed.
	vanished atomic.Uint64

	// version is the resourceVersion that has been reached; empty means that a
	// list must come next.
	version string
	listed  bool
	// inexact says that the state at since is not to be had.
	inexact bool
	round   uint32
	objects map[uidKey]held
	// noted are the edges that have been followed already.
	noted map[object.Kind]bool
	// emptied are the Namespaces whose contents are watched as they go.
	emptied map[string]bool
}

type uidKey = types.UID

// held is what is kept of an object.
type held struct {
	version uint64
	kind    object.Kind
	namespace,
	name string
	// round is the list that showed it last.
	round uint32
}

// covers reports whether the stream shows everything after since.
func (s *stream) covers(since uint64) bool {
	return s.over() == nil && (since == 0 || s.since == 0 || s.since <= since)
}

func (s *stream) run(ctx context.Context) {
	defer s.vanish()
	retry := newRetry()
	for ctx.Err() == nil {
		began := time.Now()
		var err error
		if s.version == "" {
			if err = s.list(ctx); err == nil {
				continue
			}
		} else {
			err = s.watch(ctx)
		}
		if ctx.Err() == nil {
			retry.wait(ctx, s.judge(ctx, err), time.Since(began))
		}
	}
}

// list reads the whole list, page by page, and hands on what differs from what
// is known.
func (s *stream) list(ctx context.Context) error {
	select {
	case s.w.lists <- struct{}{}:
		defer func() { <-s.w.lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.round++
	opts := metav1.ListOptions{Limit: s.pageSize()}
	if err := s.compareVersions(ctx); err != nil {
		return err
	}
	read := s.listPage
	if s.exact() {
		opts.ResourceVersion = strconv.FormatUint(s.since, 10)
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
		read = s.listExact
	}
	for {
		p, err := read(ctx, opts)
		if err != nil {
			return err
		}
		for _, item := range p.items {
			s.listItem(item)
		}
		if p.next == "" {
			s.endList(p.version)
			return nil
		}
		opts = metav1.ListOptions{Limit: opts.Limit, Continue: p.next}
	}
}

// vanish hands on that all objects are gone, if the resource itself is.
func (s *stream) vanish() {
	if version := s.vanished.Load(); version != 0 {
		s.round++
		s.endList(strconv.FormatUint(version, 10))
	}
}

func (s *stream) listItem(item metav1.Object) {
	o := s.observe(item)
	if o == nil {
		s.w.warnings.once("identity "+s.what(), "cannot follow %s: its objects have no UID or no numeric resourceVersion", s.what())
		return
	}
	if !s.hold(o) {
		return
	}
	o.Listed = true
	o.Baseline = !s.listed
	s.seen(s, o)
}

// endList hands on what the list shows to be gone.
func (s *stream) endList(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	for uid, h := range s.objects {
		if h.round == s.round {
			continue
		}
		delete(s.objects, uid)
		if s.isEvents() {
			continue
		}
		s.seen(s, &observation.Observation{
			Seen:   s.w.now(),
			Source: observation.SourceWatch,
			Listed: true,
			Gone: &observation.Gone{
				Ref:             object.Ref{Kind: h.kind, Namespace: h.namespace, Name: h.name, UID: uid},
				ResourceVersion: number,
			},
		})
	}
	s.version = version
	s.listed = true
	s.ready.Do(s.w.oneSynced)
}

// hold keeps what is needed of an object and reports whether it is new.
func (s *stream) hold(o *observation.Observation) bool {
	var uid uidKey
	h := held{round: s.round}
	if e := o.Event; e != nil {
		uid, h.version = uidKey(e.UID), e.ResourceVersion
	} else {
		uid, h.version = o.State.UID, o.State.ResourceVersion
		h.kind, h.namespace, h.name = o.State.Kind, o.State.Namespace, o.State.Name
	}
	before, known := s.objects[uid]
	s.objects[uid] = h
	return !known || before.version != h.version
}

// watch follows the resource until the server ends the watch, or it breaks.
func (s *stream) watch(ctx context.Context) error {
	// A watch that is never renewed may hang unnoticed behind a proxy.
	timeout := int64(300 + rand.IntN(300)) //nolint:gosec // spreads load
	changes, err := s.open(ctx, metav1.ListOptions{
		ResourceVersion:     s.version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &timeout,
	})
	if err != nil {
		return err
	}
	defer changes.Stop()
	s.w.warnings.again(unreachable)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case change, ok := <-changes.ResultChan():
			if !ok {
				return nil
			}
			if err := s.change(change); err != nil {
				return err
			}
		}
	}
}

func (s *stream) change(change apiwatch.Event) error {
	if change.Type == apiwatch.Error {
		return apierrors.FromObject(change.Object)
	}
	obj, ok := change.Object.(metav1.Object)
	if !ok || obj.GetResourceVersion() == "" {
		return fmt.Errorf("unexpected %T in the watch of %s", change.Object, s.what())
	}
	switch change.Type {
	case apiwatch.Added, apiwatch.Modified:
		if o := s.observe(obj); o != nil && s.hold(o) {
			s.seen(s, o)
		}
	case apiwatch.Deleted:
		s.deleted(obj)
	}
	s.version = obj.GetResourceVersion()
	return nil
}

func (s *stream) deleted(obj metav1.Object) {
	o := s.observe(obj)
	if o == nil {
		return
	}
	delete(s.objects, obj.GetUID())
	if o.State == nil {
		return // an Event that expired
	}
	o.Gone = &observation.Gone{Ref: o.State.Ref, ResourceVersion: o.State.ResourceVersion}
	o.State = nil
	s.seen(s, o)
}

// what names what the stream watches: "deployments.apps in namespace default".
func (s *stream) what() string {
	what := s.resource.GroupResource().String()
	if s.name != "" {
		what += " " + s.name
	}
	if s.namespace != "" {
		what += " in namespace " + s.namespace
	}
	return what
}
