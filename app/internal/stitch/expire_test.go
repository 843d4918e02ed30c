// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// TestPassed: an exec is one trace, from the API server through the kubelet to the runtime, with a
// link to the Pod's last trace.
func TestPassed(t *testing.T) {
	exec := func() *foreign {
		var f foreign
		f.add("apiserver@cp", "s", "POST /api/v1/namespaces/{:namespace}/pods/{:name}/exec", by{1, 1}, 0, 5000, 6000,
			attribute.String("audit-id", "audit-exec"),
			attribute.String("url.path", "/api/v1/namespaces/default/pods/web-1/exec"))
		f.add("apiserver@cp", "c", "HTTP POST", by{1, 2}, 1, 5001, 5999)
		f.add("kubelet@node-1", "s", "/exec/{podNamespace}/{podID}/{containerName}", by{2, 1}, 0, 5002, 5998).Links =
			[]span.Link{link(by{1, 2}.traceID(), by{1, 2}.spanID())}
		f.add("kubelet@node-1", "c", "runtime.v1.RuntimeService/Exec", by{2, 2}, 1, 5003, 5004)
		f.add("containerd", "s", "runtime.v1.RuntimeService/Exec", by{2, 3}, 2, 5003, 5004)
		return &f
	}
	ours, _, pod := web()
	s := stitch.New(stitch.Options{})
	s.Accept(exec().list, now)
	if got := s.Join(ours.Trace, true, now); got != ours.Trace {
		t.Errorf("an exec is no part of the change:\n%s", outline(got))
	}
	if early := s.Expire(now); len(early) != 0 {
		t.Errorf("passed before the window was over: %v", early)
	}
	passed := s.Expire(now.Add(time.Minute))
	if len(passed) != 1 || len(passed[0].Spans) != 5 || strings.Count(outline(passed[0]), "\n  ") == 0 {
		t.Fatalf("passed %v", passed)
	}
	links := passed[0].Spans[0].Links
	if len(links) != 1 || links[0].TraceID != ours.ID || links[0].SpanID != pod.ID {
		t.Errorf("links: %v", links)
	}
	if up := passed[0].Spans[2]; up.Parent != passed[0].Spans[1].ID || up.Origin.TraceID != (by{2, 1}).traceID() {
		t.Errorf("the kubelet's span is below %s, its origin is %+v", up.Parent, up.Origin)
	}
	for name, o := range map[string]stitch.Options{"dropped": {Drop: true}, "untouched": {Mode: stitch.Link}} {
		s := stitch.New(o)
		s.Accept(exec().list, now)
		passed := s.Expire(now.Add(time.Hour))
		if st := s.Stats(); o.Drop && (len(passed) != 0 || st.Expired != 5) || !o.Drop &&
			(len(passed) != 2 || st.Passed != 5) {
			t.Errorf("%s: %d traces, %+v", name, len(passed), st)
		}
	}
}
