// SPDX-License-Identifier: Apache-2.0

package reason

import "slices"

// holds are the reasons of objects that an author stopped, or that nothing needs yet. They are no problems.
var holds = []Category{
	Paused, Suspended, ClaimUnused, OnDelete, Partition, NoAddress, ScaleOff, StartForbidden,
}

// Held reports whether the reason is that of a held object: a pause, a stop, or the declared order.
func (c Category) Held() bool { return slices.Contains(holds, c) }
