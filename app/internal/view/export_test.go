// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// SetTimes changes the time of one question, and the wait for the archive.
func (v *View) SetTimes(question, archive time.Duration) {
	v.limits.Time, v.limits.archiveTime = question, archive
}

// SetBriefTime changes the time of a search that is no costly question.
func (v *View) SetBriefTime(d time.Duration) { v.limits.briefTime = d }

// Occupy takes all places of costly questions.
func (v *View) Occupy() {
	for range cap(v.limits.Places) {
		v.limits.Places <- struct{}{}
	}
}
