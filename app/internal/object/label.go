// SPDX-License-Identifier: Apache-2.0

package object

// Label is a label of an object.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
