// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// owned returns the managedFields entry of a manager that owns the given parts of an object, such as
// "spec" and "metadata.labels".
func owned(manager, subresource string, at metav1.Time, of any, parts ...string) metav1.ManagedFieldsEntry {
	var all map[string]any
	if err := json.Unmarshal(mustJSON(of), &all); err != nil {
		panic(err) // the encoding of a struct
	}
	tree := map[string]any{}
	for _, part := range parts {
		from, to := all, tree
		path := strings.Split(part, ".")
		for i, step := range path {
			value, found := from[step]
			if !found {
				break
			}
			if i == len(path)-1 {
				to["f:"+step] = fieldsOf(value)
				break
			}
			if to["f:"+step] == nil {
				to["f:"+step] = map[string]any{}
			}
			from, to = value.(map[string]any), to["f:"+step].(map[string]any)
		}
	}
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(mustJSON(tree))), Subresource: subresource,
	}
}

// listKeys are the keys of the lists in the API, by their first field that an element has.
var listKeys = [][]string{{"uid"}, {"type"}, {"mountPath"}, {"containerPort", "protocol"}, {"ip"}, {"name"}}

// fieldsOf returns the set of the fields in a value, in the form of FieldsV1.
func fieldsOf(value any) map[string]any {
	out := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			out["."] = map[string]any{}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out["f:"+name] = fieldsOf(value[name])
		}
	case []any:
		for _, element := range value {
			of, ok := element.(map[string]any)
			if !ok {
				return map[string]any{}
			}
			key := keyOf(of)
			if key == "" {
				return map[string]any{} // an atomic list
			}
			out["k:"+key] = fieldsOf(of)
		}
		if len(out) > 0 {
			out["."] = map[string]any{}
		}
	}
	return out
}

// keyOf returns the key of an element of a list, or an empty text.
func keyOf(element map[string]any) string {
	for _, names := range listKeys {
		key := map[string]any{}
		for _, name := range names {
			if v, found := element[name]; found {
				key[name] = v
			}
		}
		if len(key) == len(names) {
			return string(mustJSON(key))
		}
	}
	return ""
}
