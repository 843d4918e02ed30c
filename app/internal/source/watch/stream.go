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
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// stream lists one resource and then watches it until its context ends. For each object it keeps
// the version, to detect duplicates, and the identity, to report a removal that a list shows. Of
// Events it keeps nothing.
//
// client-go's informers would keep the objects. Its RetryWatcher retries an expired resourceVersion
// forever when the server responds at once.
type stream struct {
	plan
	// named is the planned resource. It identifies the stream, whichever version is in use.
	named  schema.GroupVersionResource
	w      *Watcher
	link   *link
	cancel context.CancelFunc
	// over is non-nil; it returns an error once the stream was cancelled.
	over  func() error
	ready sync.Once
	// vanished is the version at which the resource itself was removed.
	vanished atomic.Uint64

	// version is the reached resourceVersion; empty means that a list must come next. emitted is the
	// same as a number, and stays during a list.
	version string
	emitted uint64
	listed  bool
	// inexact means that the state at since is not available.
	inexact bool
	// checked means that separate is known: whether the resource is in another storage than the
	// cluster's.
	checked, separate bool
	// jsonOnly means that the protobuf of the resource is unreadable.
	jsonOnly bool
	// behind means that the watch still has to deliver changes stored before it was opened, up to
	// version late.
	behind bool
	late   uint64
	pulse  pulse
	// lost is when the last watch ended or the server was last unreachable; zero means never.
	// worked means that the last request opened a watch. refused means that the credentials were
	// rejected since the last success.
	lost    time.Time
	worked  bool
	refused bool
	// newest is the API server's newest time in the changes of the watch, or the time of its start.
	newest time.Time
	state  state
	count  *counters

	// round is the number of the list; objects are the records.
	round   uint32
	objects map[uidKey]held
	// noted are the edges already followed.
	noted map[object.Kind]bool
	// emptied are the deleted Namespaces whose contents are watched.
	emptied map[string]bool

	// waiting are the changes of the watch that wait for Flush. Those in protobuf have waitingBytes.
	waiting      []arrived
	waitingBytes int
	// flushes has a call of Flush.
	flushes chan *flush
}

// covers reports whether the stream shows every change after since.
func (s *stream) covers(since uint64) bool {
	return s.over() == nil && (since == 0 || s.since == 0 || s.since <= since)
}

func (s *stream) run(ctx context.Context) {
	defer s.vanish()
	retry := newRetry()
	for ctx.Err() == nil {
		began := time.Now()
		asked := new(answer)
		listing := s.version == ""
		err := s.step(asked.in(ctx))
		if ctx.Err() != nil || listing && err == nil {
			continue
		}
		s.count.failed(err)
		n := s.judge(ctx, err)
		if s.worked && time.Since(began) > healthy {
			retry.reset()
			continue
		}
		retry.wait(ctx, n, asked.retryAfter, s.w.outage.over())
	}
}

// step makes the next request, and follows a watch until it ends.
func (s *stream) step(ctx context.Context) error {
	s.link, s.worked = s.w.link.Load(), false
	if err := s.findStorage(ctx); err != nil {
		return err
	}
	if s.version == "" {
		return s.list(ctx)
	}
	return s.watch(ctx)
}

// list reads the whole list, page by page, and emits the differences from the known state.
func (s *stream) list(ctx context.Context) error {
	select {
	case s.w.lists <- struct{}{}:
		defer func() { <-s.w.lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.round++
	if s.listed || s.since == 0 {
		s.pulse.beat()
	}
	s.count.lists.Add(1)
	opts := metav1.ListOptions{Limit: s.pageSize()}
	if err := s.compareVersions(ctx); err != nil {
		return err
	}
	read := s.listPage
	exact := s.exact()
	if exact {
		opts.ResourceVersion = strconv.FormatUint(s.since, 10)
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
		read = s.listExact
	}
	for {
		p, err := read(ctx, opts)
		if err != nil {
			return err
		}
		if n, err := strconv.ParseUint(p.version, 10, 64); err == nil && n < s.emitted {
			s.emitted = 0 // the storage was set back
		}
		for _, item := range p.items {
			s.listItem(item)
		}
		if p.next == "" {
			s.answered()
			s.behind = s.behind && exact // a list of the present is not late
			s.endList(p.version)
			return nil
		}
		opts = metav1.ListOptions{Limit: opts.Limit, Continue: p.next}
	}
}

// vanish emits the removal of all objects if the resource itself was removed, and reports that no
// stream can resume.
func (s *stream) vanish() {
	if version := s.vanished.Load(); version != 0 {
		s.round++
		s.endList(strconv.FormatUint(version, 10))
		s.w.gone(Position{Resource: s.named, Namespace: s.namespace, Name: s.name})
	}
}

func (s *stream) listItem(item metav1.Object) {
	o := s.observe(item, s.w.now())
	if o == nil {
		s.w.warnings.once(
			"identity "+s.what(), "cannot follow %s: its objects have no UID or no numeric resourceVersion", s.what(),
		)
		return
	}
	if !s.hold(o) {
		return
	}
	o.Listed = true
	o.Baseline = !s.listed
	s.hand(o)
}

// watch follows the resource until the watch ends or breaks.
func (s *stream) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changes, err := s.openInTime(ctx, cancel)
	if err != nil {
		return err
	}
	defer changes.Stop()
	defer s.disconnected()
	s.answered()
	s.count.watches.Add(1)
	s.worked = true
	if err := s.opened(ctx); err != nil {
		return err
	}
	if s.newest.IsZero() { // a later watch resumes where the last one ended, and its delay counts
		s.newest = s.w.now()
	}
	quiet := time.NewTimer(s.w.pace.quiet)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(s.flush(ctx), ctx.Err())
		case <-quiet.C:
			if s.behind {
				s.caughtUp()
			}
		case f := <-s.flushes:
			err := s.flush(ctx)
			s.w.batches.answer(f)
			if err != nil {
				return err
			}
			if s.behind { // the receiver was slow
				quiet.Reset(s.w.pace.quiet)
			}
		case change, ok := <-changes.ResultChan():
			if !ok {
				return s.flush(ctx)
			}
			if err := s.receive(ctx, change); err != nil {
				return err
			}
			if s.behind {
				quiet.Reset(s.w.pace.quiet)
			}
		}
	}
}

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
		return fmt.Errorf("unexpected %T in the watch of %s", change.Object, s.what())
	}
	switch change.Type {
	case apiwatch.Added, apiwatch.Modified:
		if o := s.observe(obj, change.at); o != nil && s.hold(o) {
			s.measure(obj, o)
			o.Late = s.isLate(o.State, o.Event)
			o.Listed = o.Late
			s.hand(o)
		}
	case apiwatch.Deleted:
		s.deleted(obj, change.at)
	}
	s.version = obj.GetResourceVersion()
	s.reached()
	return nil
}

func (s *stream) deleted(obj metav1.Object, at time.Time) {
	o := s.observe(obj, at)
	if o == nil {
		return
	}
	delete(s.objects, obj.GetUID())
	if o.State == nil {
		return // an Event that expired
	}
	o.Late = o.State.ResourceVersion <= s.late
	o.Listed = o.Late
	o.Gone = &observation.Gone{Ref: o.State.Ref, ResourceVersion: o.State.ResourceVersion, Order: o.State.Order}
	o.State = nil
	s.hand(o)
}

// hand emits an observation.
func (s *stream) hand(o *observation.Observation) {
	s.count.observed(o.Seen)
	s.seen(s, o)
}

// what returns the name of the watched resource: "deployments.apps in namespace default".
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
