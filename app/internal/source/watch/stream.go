// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// stream lists one resource and then watches it until its context ends. Its state has three
// independent parts: progress is the next request, lag the relation of the changes to the present, and
// contact the condition of the API server.
//
// client-go's informers would keep the objects. Its RetryWatcher retries an expired resourceVersion
// forever when the server responds at once.
type stream struct {
	plan
	*shared
	cancel context.CancelFunc
	// over is non-nil; it returns an error once the stream was cancelled.
	over func() error
	// ready counts the stream as listed for Synced. Further calls have no effect.
	ready func()
	// vanished is the version at which the resource itself was removed.
	vanished atomic.Uint64

	read     reader
	progress progress
	lag      lag
	contact  contact
	objects  objects
	batch    batch
	// state is that of Stats.
	state state
	count *counters
}

func newStream(p plan, of *shared, count *counters) *stream {
	s := &stream{
		plan: p, shared: of, count: count, ready: sync.OnceFunc(of.pending.remove), progress: newProgress(p.since),
		read: reader{
			resource: p.resource, namespace: p.namespace, name: p.name, pace: of.pace,
			values: of.converter.normalizer.Messages.Masks(),
		},
		objects: objects{converter: of.converter, seen: p.seen, count: count, held: map[uidKey]held{}},
		batch:   newBatch(&of.batches),
	}
	if p.old {
		s.lag.fallBehind()
	}
	s.state.begin(of.now())
	return s
}

// resume continues from the position of an earlier stream, with the objects that it knew. Without a
// position, the first list is compared with them.
func (s *stream) resume(version string, objects map[uidKey]held) {
	if len(objects) > 0 || version != "" {
		s.objects.held = objects
	}
	if version != "" {
		s.progress.reach(version)
		s.lag.fallBehind()
	}
}

// covers reports whether the stream shows every change after since.
func (s *stream) covers(since uint64) bool {
	return s.over() == nil && (since == 0 || s.since == 0 || s.since <= since)
}

func (s *stream) run(ctx context.Context) {
	retry := newRetry()
	for ctx.Err() == nil {
		began := time.Now()
		asked := new(answer)
		listing := s.progress.stage != follow
		opened, err := s.step(asked.in(ctx))
		if ctx.Err() != nil || listing && err == nil {
			continue
		}
		s.count.failed(err)
		n := s.judge(ctx, err)
		if opened && time.Since(began) > healthy {
			retry.reset()
			continue
		}
		retry.wait(ctx, n, asked.retryAfter, s.server.outage.over())
	}
}

// step makes the next request, and follows a watch until it ends. It reports whether a watch was opened.
func (s *stream) step(ctx context.Context) (opened bool, err error) {
	s.read.link = s.server.link.Load()
	if s.objects.storage == unknownStorage {
		if s.objects.storage, err = s.storages.find(ctx, &s.read); err != nil {
			return false, err
		}
		if s.objects.storage == separateStorage {
			s.progress.inexact()
		}
	}
	if s.progress.stage == follow {
		return s.watch(ctx)
	}
	return false, s.list(ctx)
}

// list reads the whole list, page by page, and emits the differences from the known state.
func (s *stream) list(ctx context.Context) error {
	select {
	case s.lists <- struct{}{}:
		defer func() { <-s.lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.objects.round++
	if s.since == 0 || !s.progress.isFirst() {
		s.lag.pulse.beat()
	}
	s.count.lists.Add(1)
	opts := metav1.ListOptions{Limit: s.pageSize()}
	if err := s.compareVersions(ctx); err != nil {
		return err
	}
	read := s.read.page
	if s.progress.stage == startAt {
		opts.ResourceVersion = strconv.FormatUint(s.since, 10)
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
		read = s.read.exactPage
	}
	for {
		p, err := read(ctx, opts)
		if err != nil {
			return err
		}
		s.progress.setBack(p.version)
		for _, item := range p.items {
			if u, ok := item.(*unstructured.Unstructured); ok {
				s.objects.normalizer.Note(u)
			}
		}
		for _, item := range p.items {
			s.listItem(item)
		}
		if p.next == "" {
			s.answered()
			if s.progress.stage != startAt {
				s.lag.caughtUp() // a list of the present is not late
			}
			s.endList(p.version)
			return nil
		}
		opts = metav1.ListOptions{Limit: opts.Limit, Continue: p.next}
	}
}

func (s *stream) listItem(item metav1.Object) {
	if !s.objects.list(s.read.resource, item, s.now(), s.progress.emitted, s.progress.isFirst()) {
		what := s.read.String()
		s.warnings.once(
			"identity "+what, "cannot follow %s: its objects have no UID or no numeric resourceVersion", what,
		)
	}
}

// endList emits the removals that the list shows.
func (s *stream) endList(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	s.objects.removeMissing(number, s.now)
	s.ready()
	s.reach(version)
}

// vanish emits the removal of all objects if the resource itself was removed. It reports whether it was.
func (s *stream) vanish() bool {
	version := s.vanished.Load()
	if version == 0 {
		return false
	}
	s.objects.round++
	s.endList(strconv.FormatUint(version, 10))
	return true
}

// watch follows the resource until the watch ends or breaks.
func (s *stream) watch(ctx context.Context) (opened bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changes, err := s.read.openInTime(ctx, cancel, s.progress.version)
	if err != nil {
		return false, err
	}
	defer changes.Stop()
	defer s.disconnected()
	s.answered()
	s.count.watches.Add(1)
	if err := s.opened(ctx); err != nil {
		return true, err
	}
	s.objects.delay.start(s.now())
	return true, s.followChanges(ctx, changes.ResultChan())
}

// followChanges takes changes until the watch ends. After a time without changes, a stream that is
// behind has caught up.
func (s *stream) followChanges(ctx context.Context, changes <-chan apiwatch.Event) error {
	quiet := time.NewTimer(s.pace.quiet)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(s.flush(ctx), ctx.Err())
		case <-quiet.C:
			if s.lag.delivery != live {
				s.caughtUp()
			}
			continue
		case f := <-s.batch.flushes:
			err := s.flush(ctx)
			s.batches.answer(f)
			if err != nil {
				return err
			}
		case change, ok := <-changes:
			if !ok {
				return s.flush(ctx)
			}
			if err := s.receive(ctx, change); err != nil {
				return err
			}
		}
		if s.lag.delivery != live { // after a flush, because the receiver was slow
			quiet.Reset(s.pace.quiet)
		}
	}
}

// change emits a change of the watch.
func (s *stream) change(change arrived) (err error) {
	if encoded, is := change.Object.(*apiproto.Encoded); is {
		if change.Object, err = apiproto.Decode(encoded.Data); err != nil {
			return err
		}
	}
	if change.Type == apiwatch.Error {
		return apierrors.FromObject(change.Object)
	}
	obj, ok := change.Object.(metav1.Object)
	if !ok || obj.GetResourceVersion() == "" {
		return fmt.Errorf("unexpected %T in the watch of %s", change.Object, s.read.String())
	}
	switch change.Type {
	case apiwatch.Added, apiwatch.Modified:
		s.objects.change(s.read.resource, obj, change.at, &s.progress, &s.lag)
	case apiwatch.Deleted:
		s.objects.remove(s.read.resource, obj, change.at, &s.lag)
	}
	s.reach(obj.GetResourceVersion())
	return nil
}

// reach reports the stream's position after all its observations.
func (s *stream) reach(version string) {
	s.progress.reach(version)
	if s.objects.storage != separateStorage {
		s.storages.reach(s.progress.emitted)
	}
	s.out.reach(Position{Resource: s.resource, Namespace: s.namespace, Name: s.name, Version: version})
}
