// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// mentionKeys are the attributes that name another object by its kind and name: the object to blame, the lost one, an
// autoscaler, and the tool that undoes a change.
var mentionKeys = map[attribute.Key]bool{
	span.KeyReasonObject: true, span.KeyHeals: true, span.KeyAutoscaler: true, span.KeyDrift: true,
}

// Mentioned returns the objects that attributes name and that are not objects of the trace. A span of another component
// may name one with its namespace. Other attributes have none: objects of built-in kinds name those of their own
// namespace; any other one counts as an object without a namespace.
func Mentioned(t *span.Trace) []object.Ref {
	var out []object.Ref
	var objects map[string]bool
	var known map[place]bool
	for _, s := range t.Spans {
		if of := named(s); of != (object.Ref{}) {
			if known == nil {
				known = placesOf(t)
			}
			if at := placeOf(of); !known[at] {
				known[at] = true
				out = append(out, of)
			}
		}
		for _, kv := range s.Attributes {
			if !mentionKeys[kv.Key] {
				continue
			}
			if objects == nil {
				objects = objectsOf(t)
			}
			if !objects[kv.Value.AsString()] {
				out = append(out, mentioned(s, kv))
			}
		}
	}
	return out
}

// place is what a span of another component says of an object.
type place struct{ kind, namespace, name string }

func placeOf(o object.Ref) place { return place{o.Kind.Kind, o.Namespace, o.Name} }

// placesOf returns the objects of the spans of a trace.
func placesOf(t *span.Trace) map[place]bool {
	out := map[place]bool{}
	for _, s := range t.Spans {
		out[placeOf(s.Object)] = true
	}
	return out
}

// objectsOf returns the objects of a trace, as an attribute mentions them.
func objectsOf(t *span.Trace) map[string]bool {
	out := map[string]bool{}
	for _, s := range t.Spans {
		out[nameOf(s.Object)] = true
		for _, w := range writes(s) {
			if w.Of != nil {
				out[nameOf(*w.Of)] = true
			}
		}
	}
	return out
}

// nameOf returns an object as an attribute mentions it.
func nameOf(o object.Ref) string { return o.Kind.Kind + " " + o.Name }

// mentioned returns the object that an attribute of a span mentions.
func mentioned(s *span.Span, kv attribute.KeyValue) object.Ref {
	word, name, _ := strings.Cut(kv.Value.AsString(), " ")
	out := object.Ref{Kind: object.Kind{Kind: word}, Name: name}
	k := kinds()[word]
	if k == nil {
		return out
	}
	out.Group = k.Group
	if builtIn := !strings.Contains(k.Group, "."); builtIn && !k.ClusterScoped && kv.Key != span.KeyDrift {
		out.Namespace = s.Object.Namespace
	}
	return out
}

// Named returns the object that an attribute of a span names by its kind and name, such as a lost one. Of a built-in
// kind, it is in the namespace of the span's object.
func Named(s *span.Span, kv attribute.KeyValue) object.Ref { return mentioned(s, kv) }

// kinds has the known kinds by name. The first one of a name is the built-in one.
var kinds = sync.OnceValue(func() map[string]*kind.Kind {
	out := map[string]*kind.Kind{}
	for _, k := range kind.All() {
		if was := out[k.Kind.Kind]; was == nil || strings.Contains(was.Group, ".") {
			out[k.Kind.Kind] = k
		}
	}
	return out
})
