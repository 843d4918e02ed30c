// SPDX-License-Identifier: Apache-2.0

package mask

import "k8s.io/apimachinery/pkg/runtime/schema"

// Mode is the treatment of messages.
type Mode string

const (
	// Masked shows text and masks values; it is the zero value's meaning, too.
	Masked Mode = "mask"
	// Strict shows known sentences only.
	Strict Mode = "strict"
	// Keep shows everything.
	Keep Mode = "keep"
)

// Modes are the modes by kind. The zero value masks everything.
type Modes struct {
	// Default is the mode of all other kinds.
	Default Mode
	// Kinds are the modes of some kinds, and Groups those of all kinds of a group.
	Kinds  map[schema.GroupKind]Mode
	Groups map[string]Mode
}

// For returns the mode of a kind: of the kind itself, of its group, or the default.
func (m *Modes) For(of schema.GroupKind) Mode {
	mode, found := m.Kinds[of]
	if of.Kind == "" { // unknown
		for k, mode := range m.Kinds {
			if k.Group == of.Group && mode == Strict {
				return Strict
			}
		}
	}
	if !found {
		mode, found = m.Groups[of.Group]
	}
	if !found {
		mode = m.Default
	}
	if mode == "" {
		return Masked
	}
	return mode
}

// Masks reports whether the messages of some kind are masked.
func (m *Modes) Masks() bool {
	masked := func(mode Mode) bool { return mode == Masked || mode == "" }
	for _, mode := range m.Kinds {
		if masked(mode) {
			return true
		}
	}
	for _, mode := range m.Groups {
		if masked(mode) {
			return true
		}
	}
	return masked(m.Default)
}
