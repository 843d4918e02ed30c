// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// maxSetters bounds what is remembered of an object's field managers.
const maxSetters = 16

// setter is a field manager that has set annotations of a context.
type setter struct {
	manager string
	applies bool // by server-side apply
	keys    []string
}

// setters are those of one object.
type setters struct {
	known bool // the API server's notes were there
	all   []setter
}

// settersOf reads in the API server's notes who has set the annotations of a
// context, which are own.
func settersOf(obj client.Object, own map[string]string) setters {
	notes := obj.GetManagedFields()
	s := setters{known: len(notes) > 0}
	if len(own) == 0 {
		return s
	}
	for _, m := range notes {
		if m.FieldsV1 == nil || m.Subresource != "" ||
			!bytes.Contains(m.FieldsV1.GetRawBytes(), []byte(`"f:annotations"`)) {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]json.RawMessage `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
			return setters{}
		}
		one := setter{manager: m.Manager, applies: m.Operation == metav1.ManagedFieldsOperationApply}
		for k := range own {
			if _, set := fields.Metadata.Annotations["f:"+k]; set {
				one.keys = append(one.keys, k)
			}
		}
		if len(one.keys) > 0 {
			s.all = append(s.all, one)
		}
	}
	if len(s.all) > maxSetters {
		return setters{}
	}
	return s
}

// mine reports whether manager has set an annotation by server-side apply, so
// that it would be removed if it was left out of the next one.
func (s setters) mine(manager, key string) bool {
	return slices.ContainsFunc(s.all, func(o setter) bool {
		return o.applies && o.manager == manager && slices.Contains(o.keys, key)
	})
}

// free reports whether manager can apply another value: nobody else has set it.
func (s setters) free(manager, key string) bool {
	return !slices.ContainsFunc(s.all, func(o setter) bool {
		return !(o.applies && o.manager == manager) && slices.Contains(o.keys, key)
	})
}

// opinion is the verdict of an apply by manager on an object that carries there.
// What somebody else has set is not taken over: sending it would store a note of
// that and conflict with its next value, and leaving out what one has not set
// removes nothing. A new context takes the place of another's only by force.
func (s setters) opinion(v supply.Verdict, there map[string]string, manager string, force bool) supply.Verdict {
	if !s.known || manager == "" {
		return v
	}
	if v.Context.IsValid() {
		contested := false
		for k := range v.Carry {
			contested = contested || !s.free(manager, k)
		}
		if force || !contested {
			return v
		}
		v = supply.Verdict{Digest: v.Digest, Carry: there}
	}
	var carry map[string]string
	for k, text := range v.Carry {
		if s.mine(manager, k) {
			if carry == nil {
				carry = map[string]string{}
			}
			carry[k] = text
		}
	}
	v.Carry = carry
	return v
}
