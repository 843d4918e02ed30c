// SPDX-License-Identifier: Apache-2.0

package store

import "reflect"

// Same reports whether two accesses of one Gate permit the same.
func (a Access) Same(b Access) bool { return reflect.DeepEqual(a.scope, b.scope) }
