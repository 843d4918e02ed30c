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

// maxSetters limits the stored field managers of an object.
const maxSetters = 16

// setter is a field manager of context annotations.
type setter struct {
	manager string
	applies bool // uses server-side apply
	keys    []string
}

// setters are the field managers of an object's context annotations.
type setters struct {
	known bool // managedFields was present
	all   []setter
}

// settersOf returns the field managers of the context annotations in own, from managedFields.
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

// mine reports whether manager applied an annotation. Its next apply must then repeat the
// annotation, or the API server removes it.
func (s setters) mine(manager, key string) bool {
	return slices.ContainsFunc(s.all, func(o setter) bool {
		return o.applies && o.manager == manager && slices.Contains(o.keys, key)
	})
}

// free reports whether manager can apply another value, because no other manager set one.
func (s setters) free(manager, key string) bool {
	return !slices.ContainsFunc(s.all, func(o setter) bool {
		return !(o.applies && o.manager == manager) && slices.Contains(o.keys, key)
	})
}

// opinion returns the verdict for an apply by manager on an object with the context there.
// Annotations of other managers are left out. Sending them would add manager to their owners and
// cause conflicts later, and leaving them out removes nothing. A new context replaces that of
// another manager only with force.
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
