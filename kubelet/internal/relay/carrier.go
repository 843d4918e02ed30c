// SPDX-License-Identifier: Apache-2.0

package relay

import "google.golang.org/grpc/metadata"

// carrier is the metadata of a call as a carrier of a trace context.
type carrier metadata.MD

// Get returns the first value.
func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces the values.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys returns all keys.
func (c carrier) Keys() []string {
	out := make([]string, 0, len(c))
	for key := range c {
		out = append(out, key)
	}
	return out
}
