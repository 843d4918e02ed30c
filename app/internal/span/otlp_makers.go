// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// maker is a component with its spans: one resource of a document.
type maker struct {
	attributes []attribute.KeyValue
	schema     string
	scopes     []*madeSpans
}

// madeSpans are the spans of one scope of a maker.
type madeSpans struct {
	scope  Scope
	schema string
	spans  []*Span
}

// makersOf sorts the ended spans of traces by resource and scope, as ToOTLP describes.
func makersOf(traces []*Trace, cluster string) []*maker {
	m := makers{
		byResource: map[string]*maker{},
		byScope:    map[string]*madeSpans{},
		byService:  map[string]*madeSpans{},
		cluster:    cluster,
	}
	for _, t := range traces {
		for _, s := range t.Spans {
			if !s.Open() {
				scope := m.of(s)
				scope.spans = append(scope.spans, s)
			}
		}
	}
	out := make([]*maker, 0, len(m.byResource))
	for _, key := range slices.Sorted(maps.Keys(m.byResource)) {
		out = append(out, m.byResource[key])
	}
	return out
}

// makers holds the resources and scopes of a document. The keys of byResource and byScope begin with the
// component's name and define their order.
type makers struct {
	cluster    string
	byResource map[string]*maker
	byScope    map[string]*madeSpans
	// byService has the scopes of Lifeline's spans by Span.Service.
	byService map[string]*madeSpans
	// given and givenKey cache the last foreign resource and its key: spans of one request share a
	// resource.
	given    *Resource
	givenKey string
}

// of returns the scope to which s belongs.
func (m *makers) of(s *Span) *madeSpans {
	if s.Origin != nil {
		return m.scope(s)
	}
	scope := m.byService[s.Service]
	if scope == nil {
		scope = m.scope(s)
		m.byService[s.Service] = scope
	}
	return scope
}

func (m *makers) scope(s *Span) *madeSpans {
	service := cmp.Or(text(s.Service), unknownService)
	resourceKey := service + "\x00"
	if foreign(s) {
		resourceKey += "\x01" + m.key(s.Origin.Resource)
	}
	resource := m.byResource[resourceKey]
	if resource == nil {
		resource = m.resource(s, service)
		m.byResource[resourceKey] = resource
	}
	scope, schema := Scope{Name: ScopeName, Version: version()}, SchemaURL
	if s.Origin != nil {
		scope, schema = Scope{Name: text(s.Origin.Scope.Name), Version: text(s.Origin.Scope.Version)}, ""
	}
	scopeKey := resourceKey + "\x00" + strconv.Itoa(len(scope.Name)) + scope.Name + scope.Version
	made := m.byScope[scopeKey]
	if made == nil {
		made = &madeSpans{scope: scope, schema: schema}
		m.byScope[scopeKey] = made
		resource.scopes = append(resource.scopes, made)
	}
	return made
}

// foreign reports whether s carries a resource.
func foreign(s *Span) bool { return s.Origin != nil && s.Origin.Resource != nil }

func (m *makers) resource(s *Span, service string) *maker {
	if foreign(s) {
		r := s.Origin.Resource
		return &maker{attributes: r.Attributes, schema: text(r.SchemaURL)}
	}
	out := &maker{attributes: []attribute.KeyValue{attribute.String("service.name", service)}}
	if m.cluster != "" {
		out.attributes = append(out.attributes, attribute.String("k8s.cluster.uid", m.cluster))
	}
	if s.Origin == nil {
		out.schema = SchemaURL
	}
	return out
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
