// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// body is a JSON object in which only the annotations are decoded. Everything else keeps its bytes,
// including numbers beyond the precision of float64.
type body struct {
	all, meta   map[string]json.RawMessage
	annotations map[string]json.RawMessage
	// closed means that the metadata or the annotations have another type than a map, for example
	// null to remove all of them.
	closed bool
}

// parseBody returns nil if data is not a JSON object.
func parseBody(data []byte) *body {
	b := &body{}
	if json.Unmarshal(data, &b.all) != nil || b.all == nil {
		return nil
	}
	if text, there := b.all["metadata"]; there {
		if json.Unmarshal(text, &b.meta) != nil || b.meta == nil {
			b.meta, b.closed = nil, true
			return b
		}
	}
	if text, there := b.meta["annotations"]; there {
		if json.Unmarshal(text, &b.annotations) != nil || b.annotations == nil {
			b.annotations, b.closed = nil, true
		}
	}
	return b
}

// drop removes the convention's annotations from the body, and reports whether there were any. It
// keeps a context that the writer chose.
func (b *body) drop(s supply.Rules) bool {
	brought := map[string]string{}
	for k, v := range b.annotations {
		var text *string
		if s.Convention.Owns(k) && json.Unmarshal(v, &text) == nil && text != nil {
			brought[k] = *text
		}
	}
	if sc := s.Context(brought); sc.IsValid() {
		if _, ours := lifeline.ClaimOf(sc); !ours {
			return false
		}
	}
	dropped := false
	for k := range b.annotations {
		if s.Convention.Owns(k) {
			delete(b.annotations, k)
			dropped = true
		}
	}
	return dropped
}

// add sets annotations and reports whether it changed the body.
func (b *body) add(carry map[string]string) bool {
	if b.closed || len(carry) == 0 {
		return false
	}
	if b.annotations == nil {
		b.annotations = make(map[string]json.RawMessage, len(carry))
	}
	for k, v := range carry {
		text, err := json.Marshal(v)
		if err != nil {
			return false
		}
		b.annotations[k] = text
	}
	return true
}

// text returns the current body; data if encoding fails.
func (b *body) text(data []byte) []byte {
	if !b.closed && !put(&b.meta, "annotations", b.annotations) {
		return data
	}
	if (!b.closed || b.meta != nil) && !put(&b.all, "metadata", b.meta) {
		return data
	}
	text, err := json.Marshal(b.all)
	if err != nil {
		return data
	}
	return text
}

// put sets part as a member of an object. An empty part removes the member.
func put(of *map[string]json.RawMessage, key string, part map[string]json.RawMessage) bool {
	if len(part) == 0 {
		delete(*of, key)
		return true
	}
	text, err := json.Marshal(part)
	if err != nil {
		return false
	}
	if *of == nil {
		*of = map[string]json.RawMessage{}
	}
	(*of)[key] = text
	return true
}
