// SPDX-License-Identifier: Apache-2.0

//go:build !race

package watch

// raced means that the race detector is on.
const raced = false
