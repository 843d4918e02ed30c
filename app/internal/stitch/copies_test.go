// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// TestCopies: the spans from Fresh without those from Left are at any time enough for another
// Stitcher to continue.
func TestCopies(t *testing.T) {
	ours, _, pod := web()
	var f foreign
	work := f.add("kubelet", "i", "syncPod", by{1, 1}, 0, 100, 3000,
		attribute.String("k8s.pod.uid", string(pod.Object.UID)))
	f.add("kubelet", "c", "runtime.v1.RuntimeService/RunPodSandbox", by{1, 2}, 1, 200, 900)
	other := f.add("kubelet", "i", "syncPod", by{2, 1}, 0, 100, 3000, attribute.String("k8s.pod.uid", "another"))
	read := f.add("apiserver", "s", "GET /api/v1/namespaces/{:namespace}/pods/{:name}", by{3, 1}, 0, 100, 110)
	f.add("apiserver", "i", "List", by{3, 2}, 1, 100, 110)

	s := stitch.New(stitch.Options{Kept: true})
	copies := map[stitch.Left]*span.Span{}
	turn := func(place uint64) {
		for _, one := range s.Fresh(place) {
			copies[stitch.Left{Trace: one.TraceID, Span: one.ID, Place: place}] = one
		}
		for _, left := range s.Left() {
			if copies[left] == nil {
				t.Errorf("%v left, of which there was no copy", left)
			}
			delete(copies, left)
		}
	}
	want := func(when string, spans ...*span.Span) {
		t.Helper()
		for _, one := range spans {
			if !slices.Contains(f.list, one) {
				t.Fatal("no such span")
			}
		}
		if len(copies) != len(spans) {
			t.Errorf("%s: there are %d copies, want %d", when, len(copies), len(spans))
		}
		for _, one := range copies {
			if !slices.Contains(spans, one) {
				t.Errorf("%s: there is a copy of %s", when, one.Name)
			}
		}
	}
	s.Accept(f.list, now)
	turn(1)
	want("when they have come, but for reads", work, f.list[1], other)
	s.Accept(f.list, now)
	turn(2)
	want("when they have come again", work, f.list[1], other)
	s.Join(ours.Trace, false, now)
	turn(3)
	want("while the trace is open", work, f.list[1], other)
	s.Join(ours.Trace, true, now)
	turn(4)
	want("when it was handed out", other)
	s.Lost()
	clear(copies)
	turn(5)
	want("when all copies were lost", other)
	s.Expire(now.Add(2 * time.Hour))
	turn(6)
	want("when nothing waits any more")

	s.Accept([]*span.Span{other, read}, now)
	turn(7)
	s.Accept([]*span.Span{work}, now)
	s.Leave(7)
	if n := s.Stats().Buffered; n != 2 {
		t.Errorf("%d spans are held, want the two without a copy", n)
	}
}
