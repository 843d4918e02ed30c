// SPDX-License-Identifier: Apache-2.0

package watch

import "time"

// pulse is the time of the last sign of life of a stream's watch.
type pulse struct{ at time.Time }

func (p *pulse) beat() { p.at = time.Now() }

// missed reports whether the stream had no sign of life for longer than after. The monotonic clock
// stops while the machine sleeps, so the wall clock counts, too. A jump of the wall clock costs one
// request.
func (p *pulse) missed(after time.Duration) bool {
	if p.at.IsZero() {
		return false
	}
	now := time.Now()
	return now.Sub(p.at) > after || now.Round(0).Sub(p.at.Round(0)) > after
}

// delivery is the relation of a stream's changes to the present.
//
//	            fallBehind  catchUp     isAt (late)  caughtUp
//	----------  ----------  ----------  -----------  --------
//	live        behind      catchingUp  live         live
//	behind      behind      catchingUp  behind       live
//	catchingUp  behind      catchingUp  live         live
type delivery uint8

const (
	// live: the next changes are new.
	live delivery = iota
	// behind: the next watch begins with changes stored before its opening.
	behind
	// catchingUp: the present watch delivers such changes, up to version lag.late.
	catchingUp
)

// lag determines the late changes of a stream: those stored before the opening of their watch.
type lag struct {
	delivery delivery
	// late is the last late version. It stays after the stream has caught up.
	late  uint64
	pulse pulse
}

// fallBehind makes the next watch begin with late changes.
func (l *lag) fallBehind() { l.delivery = behind }

// isLive reports whether a watch that opens now delivers no late changes.
func (l *lag) isLive(limit time.Duration) bool { return l.delivery == live && !l.pulse.missed(limit) }

// catchUp makes changes up to version late count as late.
func (l *lag) catchUp(late uint64) {
	l.delivery, l.late = catchingUp, late
	l.pulse.beat()
}

// isAt reports whether the stream has just caught up, at that version.
func (l *lag) isAt(version uint64) bool {
	if l.delivery != catchingUp || version < l.late {
		return false
	}
	l.caughtUp()
	return true
}

// caughtUp makes the next changes count as live.
func (l *lag) caughtUp() { l.delivery = live }

// isLate reports whether a version was stored before the opening of its watch.
func (l *lag) isLate(version uint64) bool { return version <= l.late }
