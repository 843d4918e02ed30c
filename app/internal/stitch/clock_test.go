// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// TestClock: the clock of the kubelet and its containerd is 3 s late or early. The kubelet's
// request to the API server proves it.
func TestClock(t *testing.T) {
	for name, off := range map[string]float64{"late": -3000, "early": 3000, "right": 0, "beyond measure": 100_000} {
		t.Run(name, func(t *testing.T) {
			ours, _, pod := web()
			ours.write(pod, "update", "audit-status", 1200, 1210)
			var f foreign
			f.work(1, "web-1", off)
			f.add("kubelet@node-1", "c", "HTTP PATCH", by{2, 1}, 0, 1195+off, 1215+off)
			f.add("apiserver@cp", "s", patchPod, by{3, 1}, 0, 1200, 1210,
				attribute.String("audit-id", "audit-status")).Links =
				[]span.Link{link(by{2, 1}.traceID(), by{2, 1}.spanID())}
			got := join(stitch.Options{}, &f, ours.Trace)[0]
			check(t, ours.Trace, got)
			for name, want := range map[string]float64{"syncPod": 50, "HTTP PATCH": 1195, runPodSandbox: 100} {
				s := find(t, got, name, true)
				correction := attributeOf(s, span.KeyCorrection)
				switch diff := s.Start.Sub(at(want)).Abs(); {
				case off == 0 && (correction != "" || diff != 0):
					t.Errorf("%s was corrected by %s", name, correction)
				case off == 100_000 && correction != "":
					t.Errorf("%s was corrected by %s, which is more than the bound", name, correction)
				case (off == 3000 || off == -3000) && (correction == "" || diff > 20*time.Millisecond):
					t.Errorf("%s starts %s from when it did, corrected by %q s", name, diff, correction)
				}
			}
			if s := find(t, got, patchPod, true); attributeOf(s, span.KeyCorrection) != "" {
				t.Errorf("the API server's clock is right")
			}
		})
	}
}
