// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

func (es *endpoints) save(s *snapshot.Writer) {
	for key, one := range snapshot.ByKey(es.byKey, cmp.Compare) {
		m := &statepb.Endpoint{
			Key: uint64(key), Publications: s.Publications(one.of), Seen: s.Time(one.seen),
		}
		if p := one.handedOut; p != nil {
			m.HandedOut = &statepb.HandedOutPod{
				Ref: s.Ref(p.ref), TraceId: s.TraceID(p.line), SpanId: s.SpanID(p.span),
				Ready: s.Moment(p.ready), Rv: p.rv, At: s.Time(p.at),
			}
		}
		s.Part.Endpoints = append(s.Part.Endpoints, m)
		s.Next()
	}
}

func (es *endpoints) restore(r *snapshot.Reader, p *statepb.Part) {
	for _, m := range p.Endpoints {
		one := &endpoint{of: r.Publications(m.Publications), seen: r.Time(m.Seen)}
		if t := m.HandedOut; t != nil {
			ref := r.Ref(t.Ref)
			one.handedOut = &handedOutPod{
				ref: &ref, line: r.TraceID(t.TraceId), span: r.SpanID(t.SpanId),
				ready: r.Moment(t.Ready), rv: t.Rv, at: r.Time(t.At),
			}
		}
		es.byKey[observation.EndpointKey(m.Key)] = one
	}
}
