// SPDX-License-Identifier: Apache-2.0

package observation

// Leaf is one field of an object outside its status: a scalar, or a part that is not divided.
type Leaf struct {
	// Path is like "spec.template.spec.containers[name=app].image". It never holds a value of a
	// Secret or ConfigMap.
	Path string `json:"path"`
	// Value is a digest of the value, under a key of the observer. So a recording does not
	// reveal a value. Digests of two observers cannot be compared.
	Value uint64 `json:"value"`
	// Managers has bit i set if State.Managers[i] owns the field.
	Managers uint64 `json:"managers,omitempty"`
	// Shown is the value itself, on one line. Only a scalar has it, of a field whose values may be shown.
	Shown string `json:"shown,omitempty"`
}

// PathData is the path of the whole content of an object that is read as metadata only, such as a
// Secret. Its digest changes with each write, because the content is unknown.
const PathData = "data"
