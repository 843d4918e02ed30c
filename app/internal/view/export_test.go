// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// SetTimes changes the time of one question, and the wait for the archive.
func (v *View) SetTimes(question, archive time.Duration) {
	v.questions.Time, v.archiveTime = question, archive
}

// SetBriefTime changes the time of a search that is no costly question.
func (v *View) SetBriefTime(d time.Duration) { v.briefTime = d }

// Occupy takes all places of costly questions.
func (v *View) Occupy() {
	for range cap(v.questions.Places) {
		v.questions.Places <- struct{}{}
	}
}
