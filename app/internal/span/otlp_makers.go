// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// makers holds the resources and scopes of a document. Their keys begin with the component's name
// and define their order.
type makers struct {
	cluster    string
	byResource map[string]*tracepb.ResourceSpans
	byScope    map[string]*tracepb.ScopeSpans
	// given and givenKey cache the last foreign resource and its key: spans of one request share a
	// resource.
	given    *Resource
	givenKey string
}

// scope returns the scope to which s belongs.
func (m *makers) scope(s *Span) *tracepb.ScopeSpans {
	service := cmp.Or(text(s.Service), unknownService)
	resourceKey := service + "\x00"
	if foreign(s) {
		resourceKey += "\x01" + m.key(s.Origin.Resource)
	}
	rs := m.byResource[resourceKey]
	if rs == nil {
		rs = m.resource(s, service)
		m.byResource[resourceKey] = rs
	}
	name, version, schema := ScopeName, version(), SchemaURL
	if s.Origin != nil {
		name, version, schema = text(s.Origin.Scope.Name), text(s.Origin.Scope.Version), ""
	}
	scopeKey := resourceKey + "\x00" + strconv.Itoa(len(name)) + name + version
	ss := m.byScope[scopeKey]
	if ss == nil {
		ss = &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: name, Version: version}, SchemaUrl: schema}
		m.byScope[scopeKey] = ss
		rs.ScopeSpans = append(rs.ScopeSpans, ss)
	}
	return ss
}

// foreign reports whether s carries a resource.
func foreign(s *Span) bool { return s.Origin != nil && s.Origin.Resource != nil }

func (m *makers) resource(s *Span, service string) *tracepb.ResourceSpans {
	if foreign(s) {
		r := s.Origin.Resource
		return &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: toKeyValues(r.Attributes)}, SchemaUrl: text(r.SchemaURL),
		}
	}
	attrs := []attribute.KeyValue{attribute.String("service.name", service)}
	if m.cluster != "" {
		attrs = append(attrs, attribute.String("k8s.cluster.uid", m.cluster))
	}
	r := &resourcepb.Resource{Attributes: toKeyValues(attrs)}
	schema := SchemaURL
	if s.Origin != nil {
		schema = ""
	}
	return &tracepb.ResourceSpans{Resource: r, SchemaUrl: schema}
}

// key identifies a resource by its contents.
func (m *makers) key(r *Resource) string {
	if r == m.given {
		return m.givenKey
	}
	said, err := proto.MarshalOptions{Deterministic: true}.Marshal(&resourcepb.Resource{
		Attributes: toKeyValues(r.Attributes),
	})
	if err != nil { // toKeyValues leaves nothing that cannot be encoded
		said = nil
	}
	m.given, m.givenKey = r, r.SchemaURL+"\x00"+string(said)
	return m.givenKey
}
