// SPDX-License-Identifier: Apache-2.0

package change

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// apart is the minimum distance of an Event from a write without a timestamp. Their times show no
// order below it.
const apart = 5 * time.Second

// Follows reports whether the occurrence came after the write. The objects' own timestamps give the
// order, and within one second the resourceVersions. So all observers agree, even about late
// observations. The order of resourceVersions is right unless Events have a storage of their own. A
// removal has no timestamp, and its known time orders only occurrences well apart.
func Follows(e *history.Event, w *Write) bool {
	second := e.Stamp.Truncate(time.Second)
	stamp := w.stamp()
	at := w.At.At().Time
	switch {
	case w.RV == 0 || w.Reconstructed:
		return !e.At().Over(at)
	case !stamp.IsZero() && !second.IsZero() && !second.Equal(stamp):
		return second.After(stamp)
	case stamp.IsZero() && w.At.Live && e.At().Over(at.Add(-apart)):
		return false
	case stamp.IsZero() && second.After(at.Add(apart)):
		return true
	}
	return e.ResourceVersion > w.RV
}

// Has reports whether the occurrence belongs to r: it came between the first write of r and that of
// the next reconciliation.
func (r *Reconciliation) Has(e *history.Event) bool {
	return Follows(e, r.First()) && (r.Next == nil || !Follows(e, r.Next))
}

// stamp returns the second of the write, by the timestamps in its version. It is zero if the
// version does not show it.
func (w *Write) stamp() time.Time {
	if w.Version == nil || w.Verb == history.Deleted || w.Reconstructed {
		return time.Time{}
	}
	stamp := w.Version.Created
	for _, entry := range w.Version.Managers {
		stamp = history.Later(stamp, entry.Time)
	}
	return stamp.Truncate(time.Second)
}

// Second returns the second of the write in Unix seconds, or 0 if the version does not show it.
func (w *Write) Second() int64 {
	stamp := w.stamp()
	if stamp.IsZero() {
		return 0
	}
	return stamp.Unix()
}
