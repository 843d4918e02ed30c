// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"encoding/json"
	"errors"
	"strings"
)

// carried is what a W3C propagator puts into a map: the JSON form.
type carried struct {
	Parent  string `json:"traceparent"`
	State   string `json:"tracestate,omitempty"`
	Baggage string `json:"baggage,omitempty"`
}

// formatMap writes the JSON form. Nothing is escaped for HTML, so that what is
// within the bounds stays within those of the whole.
func formatMap(c carried) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return "" // three strings can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parseMap reads the JSON form; what is malformed is empty. Keys are taken in
// any case. Others beside the three, and values that are no strings, count as
// absent: writers add keys of their own.
func parseMap(text string) carried {
	var c carried
	if len(text) > maxMap {
		return c
	}
	err := json.Unmarshal([]byte(text), &c)
	if _, foreign := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !foreign {
		return carried{}
	}
	return c
}
