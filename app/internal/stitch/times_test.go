// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func TestTimes(t *testing.T) {
	cases := map[string]struct {
		reason string
		spans  func(f *foreign)
		change func(pod *span.Span, s story)
		want   map[string][2]float64 // start and end, by phase; others are unchanged
	}{
		"all": {
			reason: "each phase has the times of the calls that did its work",
			spans:  func(f *foreign) { f.work(1, "web-1", 0) },
			want: map[string][2]float64{
				"sandbox": {40, 900}, "pull image": {950, 2400}, "start container": {2450, 3300}, "readiness": {
					3300, 4000,
				},
			},
		},
		"the kubelet alone": {
			reason: "nothing tells which container, but there is only one",
			spans: func(f *foreign) {
				f.work(1, "web-1", 0)
				f.list = slices.DeleteFunc(f.list, func(s *span.Span) bool { return s.Service == "containerd" })
			},
			want: map[string][2]float64{
				"sandbox": {40, 900}, "pull image": {950, 2400}, "start container": {2450, 3300}, "readiness": {
					3300, 4000,
				},
			},
		},
		"another image": {
			reason: "the pull is not the phase's; the phase's beginning moves with the sandbox's end",
			spans: func(f *foreign) {
				f.work(1, "web-1", 0)
				for _, s := range f.list {
					if s.Name == pullImage && len(s.Attributes) > 0 {
						s.Attributes = []attribute.KeyValue{attribute.String("image.ref", "docker.io/library/redis:7")}
					}
				}
			},
			want: map[string][2]float64{
				"sandbox": {40, 900}, "pull image": {900, 2520}, "start container": {2450, 3300}, "readiness": {
					3300, 4000,
				},
			},
		},
		"exact already": {
			reason: "an exact time is not replaced",
			spans:  func(f *foreign) { f.work(1, "web-1", 0) },
			change: func(_ *span.Span, s story) {
				for _, p := range s.Spans {
					if p.Name == "sandbox" {
						p.End.Source = span.TimeRequest
					}
				}
			},
			want: map[string][2]float64{
				"sandbox": {40, 1020}, "pull image": {950, 2400}, "start container": {2450, 3300}, "readiness": {
					3300, 4000,
				},
			},
		},
		"out of the reconciliation": {
			reason: "a phase stays within its Pod's reconciliation",
			spans:  func(f *foreign) { f.work(1, "web-1", 800) },
			want: map[string][2]float64{
				"sandbox": {40, 1700}, "pull image": {1750, 3200}, "start container": {3250, 4000}, "readiness": {
					4000, 4000,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			ours, _, pod := web()
			if tc.change != nil {
				tc.change(pod, ours)
			}
			var f foreign
			tc.spans(&f)
			got := join(stitch.Options{}, &f, ours.Trace)[0]
			check(t, ours.Trace, got)
			times := map[string][2]float64{}
			for phase := range tc.want {
				s := find(t, got, phase, false)
				times[phase] = [2]float64{ms(s.Start.Time), ms(s.End.Time)}
			}
			if diff := cmp.Diff(tc.want, times); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s := find(t, got, "start container", false); s.Start.Source != span.TimeOTLP {
				t.Errorf("the source of its start is %q", s.Start.Source)
			}
		})
	}
}

func ms(t time.Time) float64 { return float64(t.Sub(epoch).Microseconds()) / 1000 }
