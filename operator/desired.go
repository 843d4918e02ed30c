// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// stateOf returns the whole state of an object or apply configuration; nil if it is not a JSON
// object. The result shares no memory with obj.
func stateOf(obj any) supply.State {
	if u, ok := obj.(runtime.Unstructured); ok {
		if m, ok := supply.Tidy(u.UnstructuredContent()); ok {
			m, _ := m.(map[string]any)
			return m
		}
	} else if m := converted(obj); m != nil {
		supply.DropNulls(m)
		return m
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	return parseState(text)
}

// converted converts a Go type with apimachinery's converter; nil if that fails. The converter
// panics for types that it does not support, but JSON may support them.
func converted(obj any) (m map[string]any) {
	defer func() {
		if recover() != nil {
			m = nil
		}
	}()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	return m
}

func parseState(text []byte) supply.State {
	var m map[string]any
	if utiljson.Unmarshal(text, &m) != nil {
		return nil
	}
	supply.DropNulls(m)
	return m
}
