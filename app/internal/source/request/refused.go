// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Refusals cleans the reasons of refused requests. The zero value shows known sentences, and the text of refused
// creations with a body.
type Refusals struct {
	// Messages are the modes by kind. In mode Keep, the values of a refusal are masked nevertheless: it quotes
	// what was to be stored.
	Messages mask.Modes
	// Memory has the values of the objects of the cluster; nil means that none are known.
	Memory *mask.Memory
	// Whole keeps text with its values, apart from that about Secrets and ConfigMaps: for a terminal that shows
	// the output of the command anyway.
	Whole bool
}

// Sent is what a refused request would have stored, as far as it is known.
type Sent struct {
	// Body is the body of the request as JSON; nil means that it is unknown. Unlogged means that the audit log has
	// left it out.
	Body     []byte
	Unlogged bool
	// Mutations is the number of webhooks that have changed the object, and Patches are their changes, as JSON
	// patches. A later webhook may quote them.
	Mutations int
	Patches   [][]byte
}

// Refused sets the reason and the message of a refused write.
func (r *Refusals) Refused(w *observation.Write, answer *Body, sent *Sent) {
	s := message.Status{Resource: w.Resource, Message: answer.Message, Causes: answer.Causes}
	if answer.Details != nil {
		s.Kind = answer.Details.Kind
	}
	w.Reason = message.Reason(answer.Reason)
	of := schema.GroupKind{Group: w.Group, Kind: w.Kind.Kind}
	confidential := message.Confidential(w.Resource) || message.Confidential(s.Kind)
	if w.Message = message.Refusal(s); !strings.Contains(w.Message, message.Withheld) && s.Message == w.Message {
		return
	}
	switch {
	case confidential || r.Messages.For(of) == mask.Strict:
	case r.Whole:
		text := observation.OneLine(s.Message)
		head := subject.FindString(text)
		w.Message, w.Kept = object.Bound(head+message.Quote(text[len(head):])), true
	default:
		v, known := r.values(w, &s, sent)
		if !known {
			if sent.Unlogged && strings.Contains(w.Message, message.Withheld) {
				w.Message += observation.Unlogged
			}
			return
		}
		c := message.Cleaner{Refused: v.Mask, Shown: func(field string) bool {
			return kind.Of(of.Group, of.Kind).Shows([]byte(field))
		}}
		w.Message, w.Masked = c.Refusal(s), true
	}
}

// subject matches the beginning of a refusal with its object and its policy.
var subject = regexp.MustCompile(`^(?:\S+ "[a-z0-9.:/-]*" is (?:invalid|forbidden): )?` +
	`(?:admission webhook "[a-z0-9.-]*" denied the request: |` +
	`ValidatingAdmissionPolicy '[a-z0-9.-]*' with binding '[a-z0-9.-]*' denied request: )?`)

// values returns the values that a refusal may quote: of the body, of the stored object, of its relatives and of
// the refused fields. A creation has no stored object. The body of a deletion has no values.
func (r *Refusals) values(w *observation.Write, s *message.Status, sent *Sent) (v mask.Values, known bool) {
	memory := r.Memory
	if memory == nil {
		memory = mask.NewMemory()
	}
	creates, deletes := w.Verb == Create && w.Subresource == "", w.Verb == Delete || w.Verb == DeleteCollection
	if !creates {
		if v, known = memory.Named(object.NameOf(&w.Ref)); !known {
			return v, false
		}
	}
	if deletes {
		return v, true
	}
	var body any
	if len(sent.Body) == 0 || json.Unmarshal(sent.Body, &body) != nil || sent.Mutations > len(sent.Patches) {
		return v, false
	}
	for _, patch := range sent.Patches {
		var operations []any
		if json.Unmarshal(patch, &operations) != nil {
			return v, false
		}
		if v, known = memory.And(v, memory.Collect(mask.Object{"values": patched(operations)}, true)); !known {
			return v, false
		}
	}
	custom := !kind.BuiltIn(w.Group)
	switch body := body.(type) {
	case mask.Object:
		if v, known = memory.And(v, memory.Collect(body, custom)); !known {
			return v, false
		}
		quoted := []any{}
		for _, c := range s.Causes {
			quoted = append(quoted, at(body, c.Field)...)
		}
		return memory.And(v, memory.Collect(mask.Object{"values": quoted}, true))
	case []any: // a JSON patch
		return memory.And(v, memory.Collect(mask.Object{"values": patched(body)}, true))
	}
	return v, false
}

// patched returns the values of a JSON patch.
func patched(operations []any) []any {
	values := []any{}
	for _, each := range operations {
		operation, _ := each.(mask.Object)
		values = append(values, operation["value"])
	}
	return values
}

// step matches one name or index of a path of a field.
var step = regexp.MustCompile(`[A-Za-z0-9_$/~*-]+|\[[^\]]*\]`)

// at returns the values at the path of a field, such as "spec.containers[0].image". Of a list, it returns all
// items, since a patch has others than the object.
func at(v any, path string) []any {
	if path == "" {
		return nil
	}
	found := []any{v}
	for _, name := range step.FindAllString(path, 64) {
		var next []any
		for _, each := range found {
			switch each := each.(type) {
			case mask.Object:
				if below, there := each[strings.Trim(name, `[]"`)]; there {
					next = append(next, below)
				}
			case []any:
				next = append(next, each...)
			}
		}
		if len(next) == 0 {
			break // the value of a field above contains it
		}
		found = next
	}
	if len(found) == 1 {
		if whole, is := found[0].(mask.Object); is && whole["metadata"] != nil {
			return nil // the path is of another object
		}
	}
	return found
}
