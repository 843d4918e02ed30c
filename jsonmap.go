// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"encoding/json"
	"errors"
	"strings"
)

// carried is the JSON form of a context, with the keys of a W3C propagator.
type carried struct {
	Parent  string `json:"traceparent"`
	State   string `json:"tracestate,omitempty"`
	Baggage string `json:"baggage,omitempty"`
}

// formatMap returns the JSON form. It does not escape HTML: escapes would make the map longer than
// maxMap.
func formatMap(c carried) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return "" // cannot happen: encoding three strings never fails
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parseMap parses the JSON form; malformed text gives the zero value. Keys match in any case. Other
// keys, and values of other types, are ignored, because writers add keys.
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
