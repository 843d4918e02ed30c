// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maker is the source of another component's spans: its process, and the library in it.
type maker struct {
	resource *span.Resource
	scope    span.Scope
}

// origin returns the number of the maker of s, and its encoded form; -1 and nil for Lifeline.
func (c *content) origin(ctx context.Context, s *span.Span) (int64, []byte, error) {
	if s.Origin == nil {
		return -1, nil, nil
	}
	data, err := encodeMaker(maker{s.Origin.Resource, s.Origin.Scope})
	if err != nil {
		return 0, nil, err
	}
	num, known := c.origins[string(data)]
	if known {
		return num, data, nil
	}
	num = c.nextOrigin
	c.nextOrigin++
	c.origins[string(data)] = num
	return num, data, c.Exec(ctx, "INSERT INTO origins (trace, num, data) VALUES (?, ?, ?)", c.num, num, data)
}

// origins returns the encoded makers of a trace's spans, by number.
func origins(ctx context.Context, from database.Querier, num int64) (map[int64][]byte, error) {
	out := map[int64][]byte{}
	var n int64
	var data []byte
	err := database.Scan(ctx, from, "SELECT num, data FROM origins WHERE trace = ?", []any{num}, []any{&n, &data},
		func() error { out[n] = append([]byte{}, data...); return nil })
	return out, err
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
