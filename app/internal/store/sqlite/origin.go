// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maker is the source of another component's spans: its process, and the library in it.
type maker struct {
	resource *span.Resource
	scope    span.Scope
}

// origin returns the number of the maker of s; -1 for Lifeline.
func (c *content) origin(ctx context.Context, s *span.Span) (int64, error) {
	if s.Origin == nil {
		return -1, nil
	}
	data, err := encodeMaker(maker{s.Origin.Resource, s.Origin.Scope})
	if err != nil {
		return 0, err
	}
	num, known := c.origins[string(data)]
	if known {
		return num, nil
	}
	num = c.nextOrigin
	c.nextOrigin++
	c.origins[string(data)] = num
	return num, c.exec(ctx, "INSERT INTO origins (trace, num, data) VALUES (?, ?, ?)", c.num, num, data)
}

// origins returns the encoded makers of a trace's spans, by number.
func origins(ctx context.Context, from querier, num int64) (map[int64][]byte, error) {
	out := map[int64][]byte{}
	var n int64
	var data []byte
	err := scan(ctx, from, "SELECT num, data FROM origins WHERE trace = ?", []any{num}, []any{&n, &data},
		func() error { out[n] = append([]byte{}, data...); return nil })
	return out, err
}

// makers returns the decoded origins.
func makers(ctx context.Context, from querier, num int64) (map[int64]*maker, error) {
	encoded, err := origins(ctx, from, num)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]*maker, len(encoded))
	for n, data := range encoded {
		if out[n], err = decodeMaker(data); err != nil {
			return nil, fmt.Errorf("%w: origin %d: %w", store.ErrDamaged, n, err)
		}
	}
	return out, nil
}

// encodeMaker returns a maker as an OTLP ResourceSpans. It is deterministic.
func encodeMaker(m maker) ([]byte, error) {
	out := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{
		Scope: &commonpb.InstrumentationScope{Name: text(m.scope.Name), Version: text(m.scope.Version)},
	}}}
	if r := m.resource; r != nil {
		out.Resource, out.SchemaUrl = &resourcepb.Resource{
			Attributes: span.KeyValues(r.Attributes, text),
		}, text(r.SchemaURL)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(out)
}

func decodeMaker(data []byte) (*maker, error) {
	var in tracepb.ResourceSpans
	if err := proto.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	m := &maker{}
	if r := in.GetResource(); r != nil {
		m.resource = &span.Resource{SchemaURL: in.GetSchemaUrl(), Attributes: span.FromKeyValues(r.GetAttributes())}
	}
	for _, ss := range in.GetScopeSpans() {
		m.scope = span.Scope{Name: ss.GetScope().GetName(), Version: ss.GetScope().GetVersion()}
	}
	return m, nil
}
