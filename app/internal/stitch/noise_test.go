// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func TestNoise(t *testing.T) {
	poll := func(f *foreign) {
		f.add("kubelet@node-1", "c", "runtime.v1.RuntimeService/ListContainers", by{1, 1}, 0, 1, 2)
		f.add("containerd", "s", "runtime.v1.RuntimeService/ListContainers", by{1, 2}, 1, 1, 2)
		f.add("containerd", "i", "metadata.containers.List", by{1, 3}, 2, 1, 2)
	}
	lease := func(f *foreign) {
		f.add("kubelet@node-1", "c", "HTTP PUT", by{2, 1}, 0, 1, 5,
			attribute.String("url.full",
				"https://cp:6443/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"))
		f.request(by{3, 1}, "PUT /apis/coordination.k8s.io/v1/namespaces/{:namespace}/leases/{:name}", "audit-lease", 2,
			4).Links =
			[]span.Link{link(by{2, 1}.traceID(), by{2, 1}.spanID())}
	}
	health := func(f *foreign) {
		f.add("apiserver@cp", "s", "GET", by{4, 1}, 0, 1, 5, attribute.String("http.target", "/readyz?verbose"))
	}
	for name, order := range map[string]func([]*span.Span){
		"in order": func([]*span.Span) {}, "children first": slices.Reverse[[]*span.Span],
	} {
		t.Run(name, func(t *testing.T) {
			var f foreign
			poll(&f)
			lease(&f)
			health(&f)
			order(f.list)
			s := stitch.New(stitch.Options{})
			for _, one := range f.list {
				s.Accept([]*span.Span{one}, now)
			}
			if st := s.Stats(); st.Noise != int64(len(f.list)) || st.Buffered != 0 {
				t.Errorf("%d spans of noise, and %+v", len(f.list), st)
			}
		})
	}
	t.Run("a call of work", func(t *testing.T) {
		var f foreign
		sync(&f, by{1, 9}, "syncPod", "create", "web-1", 0, 3)
		poll(&f)
		f.list[1].Parent = by{1, 9}.spanID()
		s := stitch.New(stitch.Options{})
		s.Accept(f.list, now)
		if st := s.Stats(); st.Noise != 0 {
			t.Errorf("what a sync asks is dropped: %+v", st)
		}
	})
}
