// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// maxItems bounds every list and map of an object.
const maxItems = 256

// fields is a JSON object. Reading a nil one is allowed.
type fields = map[string]any

func sub(m fields, key string) fields {
	v, _ := m[key].(fields)
	return v
}

func items(m fields, key string) []any {
	v, _ := m[key].([]any)
	return v[:min(len(v), maxItems)]
}

func raw(m fields, key string) string {
	v, _ := m[key].(string)
	return v
}

func truth(m fields, key string) bool {
	v, _ := m[key].(bool)
	return v
}

func number(m fields, key string, missing int64) int64 {
	switch v := m[key].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return missing
}

// sortedKeys returns the first keys of a map in order.
func sortedKeys(m fields) []string {
	keys := slices.Sorted(maps.Keys(m))
	return keys[:min(len(keys), maxItems)]
}

// Observed returns the observedGeneration of a status, or -1. Argo Rollouts writes it as text; a text
// that is no number shows nothing.
func Observed(status map[string]any) int64 {
	if text := raw(status, "observedGeneration"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			return n
		}
		return -1
	}
	return number(status, "observedGeneration", -1)
}

// created returns the creation of an object, or the epoch.
func created(meta fields) time.Time {
	t, err := time.Parse(time.RFC3339, raw(meta, "creationTimestamp"))
	if err != nil {
		return time.Unix(0, 0)
	}
	return t
}

// moment returns the newest of the times in a condition, or the zero time.
func moment(m fields) time.Time {
	for _, key := range []string{"lastTransitionTime", "timestamp", "lastUpdateTime", "lastUpdated"} {
		if t, err := time.Parse(time.RFC3339, raw(m, key)); err == nil {
			return t
		}
	}
	return time.Time{}
}
