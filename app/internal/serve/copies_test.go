// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// take accepts spans as the loop does, until they may be acknowledged.
func (j *joined) take(t *testing.T, now time.Time, spans ...*span.Span) {
	t.Helper()
	j.joining.accept(spans, now)
	if err := j.storeCopies(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

// kept are the names of the copies in the store.
func (j *joined) kept(t *testing.T) map[string][]byte {
	t.Helper()
	return j.w.states(t, copiesState)
}

// pods is a recording, up to which observation the Pod is bound, and that Pod.
func pods(t testing.TB) (seen []*observation.Observation, bound int, pod string, at time.Time) {
	t.Helper()
	seen = read(t, "../lifecycle/testdata/create.real.jsonl.gz")
	bound = slices.IndexFunc(seen, func(o *observation.Observation) bool {
		return o.State != nil && o.State.Pod != nil && o.State.Pod.Node != ""
	})
	return seen, bound, string(seen[bound].State.UID), seen[bound].Seen
}

func syncOf(id byte, pod string, at time.Time) *span.Span {
	s := foreign(id, trace.SpanID{}, "syncPod", at, at.Add(time.Second), attribute.String("k8s.pod.uid", pod))
	s.TraceID[1], s.Origin.TraceID[1] = id, id
	return s
}

// TestWaitsThroughARestart: the next server joins the spans that waited at the end of the previous
// one, once. It does not accept joined or passed spans again, and leaves no copies in the store.
func TestWaitsThroughARestart(t *testing.T) {
	seen, bound, pod, at := pods(t)
	j := newJoined(t)
	early, other := syncOf(1, pod, at), syncOf(2, "of another", at)
	j.take(t, at, early, other)

	j.start(t) // as after kill -9, before any look
	for _, o := range seen[:bound+1] {
		j.observe(o)
	}
	j.mustLook(t, at.Add(time.Second))
	if of, _ := j.stored(t, early.ID); of == nil {
		t.Fatal("what had waited was not joined after the restart")
	}
	for _, o := range seen[bound+1:] {
		j.observe(o)
	}
	end := seen[len(seen)-1].Seen
	j.mustLook(t, end)
	j.mustLook(t, end.Add(10*time.Second))
	if of, _ := j.stored(t, early.ID); of == nil || slices.ContainsFunc(of.Spans, (*span.Span).Open) {
		t.Fatal("the trace is not finished")
	}

	j.start(t) // early has been handed out, other still waits
	j.mustLook(t, end.Add(11*time.Second))
	if n := j.joining.stitch.Stats().Buffered; n != 1 {
		t.Errorf("%d spans wait after another restart, want the one without a change", n)
	}
	j.mustLook(t, end.Add(2*time.Minute))
	if len(j.passed) != 1 || j.passed[0].Spans[0].ID != other.ID {
		t.Errorf("passed on: %d, want the span without a change, once", len(j.passed))
	}
	j.start(t)
	j.mustLook(t, end.Add(3*time.Minute))
	j.mustLook(t, end.Add(5*time.Minute))
	if len(j.passed) != 1 {
		t.Errorf("passed on again: %d", len(j.passed))
	}
	if left := j.kept(t); len(left) > 0 || !j.joining.idle() {
		t.Errorf("%d chunks are left, idle %t", len(left), j.joining.idle())
	}
}

// TestEndsWithCopies: a server that is stopped leaves to the next one what waits,
// and does not pass it on.
func TestEndsWithCopies(t *testing.T) {
	_, _, _, at := pods(t)
	j := newJoined(t)
	j.take(t, at, syncOf(1, "of another", at))
	j.mustLook(t, at.Add(time.Second))
	j.joining.accept([]*span.Span{syncOf(2, "of a third", at)}, at) // the store does not have it
	j.joining.end(at.Add(time.Second))
	if len(j.passed) != 1 || j.passed[0].Spans[0].ID != (trace.SpanID{2}) {
		t.Errorf("passed on: %d, want the spans without copies", len(j.passed))
	}
	j.start(t)
	j.mustLook(t, at.Add(2*time.Second))
	if n := j.joining.stitch.Stats().Buffered; n != 1 {
		t.Errorf("%d spans wait, want the one with a copy", n)
	}
}

// TestNoCopiesOfNoise: polls and reads cost nothing on disk.
func TestNoCopiesOfNoise(t *testing.T) {
	_, _, _, at := pods(t)
	j := newJoined(t)
	poll := foreign(1, trace.SpanID{}, "runtime.v1.RuntimeService/ListContainers", at, at)
	get := foreign(2, trace.SpanID{}, "GET /api/v1/namespaces/{:namespace}/pods/{:name}", at, at)
	inside := foreign(3, get.ID, "List(recursive=true) etcd3", at, at)
	poll.Origin.Kind, get.Origin.Kind = trace.SpanKindClient, trace.SpanKindServer
	for _, s := range []*span.Span{poll, get, inside} {
		j.take(t, at, s)
	}
	if kept := j.kept(t); len(kept) > 0 {
		t.Errorf("there are %d chunks", len(kept))
	}
}

// TestCopiesAreBounded: the oldest copies are dropped and counted.
func TestCopiesAreBounded(t *testing.T) {
	_, _, _, at := pods(t)
	var c copies
	blob := syncOf(1, "of another", at)
	blob.Attributes = append(blob.Attributes, attribute.String("a", string(bytes.Repeat([]byte("x"), maxCopies/4))))
	for range 6 {
		c.put([]*span.Span{blob, syncOf(2, "of another", at)}, nil, at)
	}
	if len(c.chunks) != 3 || c.bytes > maxCopies || c.lost != 6 || c.first() != 4 {
		t.Errorf("%d chunks from %d on, %d bytes, %d lost", len(c.chunks), c.first(), c.bytes, c.lost)
	}
	there := 0
	for _, data := range c.unwritten {
		if data != nil {
			there++
		}
	}
	if there != 3 {
		t.Errorf("%d chunks would be written, want the newest 3", there)
	}
}

// TestNotAcknowledged: spans whose copies cannot be stored are not acknowledged;
// when they come again they are the same, and stored.
func TestNotAcknowledged(t *testing.T) {
	_, _, _, at := pods(t)
	j := newJoined(t)
	st := &failing{ledger: j.w.Journal, err: store.ErrFull}
	j.over = st
	j.start(t)
	sync := syncOf(1, "of another", at)
	st.times = 1
	j.joining.accept([]*span.Span{sync}, at)
	if err := j.storeCopies(t.Context(), at); !errors.Is(err, store.ErrFull) {
		t.Fatalf("got %v, want that the disk is full", err)
	}
	again := *sync
	j.take(t, at, &again)
	j.start(t)
	j.mustLook(t, at.Add(time.Second))
	if st := j.joining.stitch.Stats(); st.Buffered != 1 || st.Repeated != 0 {
		t.Errorf("after a restart: %+v, want the span once", st)
	}
}

// TestNotAcknowledgedWhileItWaits: copies that could not be stored are with the next
// look, also with one that hands nothing out: their sender is answered when it comes
// again.
func TestNotAcknowledgedWhileItWaits(t *testing.T) {
	_, _, _, at := pods(t)
	j := newJoined(t)
	st := &failing{ledger: j.w.Journal, err: store.ErrFull}
	j.over = st
	j.start(t)
	j.Waits = func() bool { return true }
	sync := syncOf(1, "of another", at)
	st.times = 1
	j.joining.accept([]*span.Span{sync}, at)
	if err := j.storeCopies(t.Context(), at); !errors.Is(err, store.ErrFull) {
		t.Fatalf("got %v, want that the disk is full", err)
	}
	j.mustLook(t, at)
	again := *sync
	j.take(t, at, &again)
	j.start(t)
	j.mustLook(t, at.Add(time.Second))
	if n := j.joining.stitch.Stats().Buffered; n != 1 {
		t.Errorf("%d spans wait after a restart, want the one that was acknowledged", n)
	}
}

// TestDamagedCopies: what cannot be read does not keep the server from the rest.
func TestDamagedCopies(t *testing.T) {
	_, _, _, at := pods(t)
	var c copies
	c.put([]*span.Span{syncOf(1, "a", at)}, nil, at)
	c.put([]*span.Span{syncOf(2, "b", at), syncOf(3, "c", at)}, nil, at)
	c.put(nil, []stitch.Left{{Trace: syncOf(2, "b", at).TraceID, Span: trace.SpanID{2}, Place: 2}}, at)
	c.unwritten[copyName(1)] = c.unwritten[copyName(1)][:20]
	damaged := 0
	got := readCopies(c.unwritten, func(string, error) { damaged++ })
	if damaged != 1 || len(got) != 1 || got[0].ID != (trace.SpanID{3}) {
		t.Errorf("%d damaged, %d spans", damaged, len(got))
	}
}

// TestCopiesOfADamagedStore: what waits goes into the store that replaces it.
func TestCopiesOfADamagedStore(t *testing.T) {
	_, _, _, at := pods(t)
	j := newJoined(t)
	j.take(t, at, syncOf(1, "of another", at))
	must(t, os.Remove(j.w.Path()))
	j.joining.accept([]*span.Span{syncOf(2, "of a third", at)}, at)
	if err := j.storeCopies(t.Context(), at); !errors.Is(err, journal.ErrRenewed) {
		t.Fatalf("got %v, want a new journal", err)
	}
	j.mustLook(t, at.Add(time.Second))
	j.start(t)
	j.mustLook(t, at.Add(2*time.Second))
	if n := j.joining.stitch.Stats().Buffered; n != 2 {
		t.Errorf("%d spans wait after a restart with the new store, want both", n)
	}
}
