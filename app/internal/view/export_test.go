// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// SetTime changes the time of one question.
func (v *View) SetTime(d time.Duration) { v.limits.Time = d }

// SetBriefTime changes the time of a search that is no costly question.
func (v *View) SetBriefTime(d time.Duration) { v.limits.briefTime = d }

// Occupy takes all places of costly questions.
func (v *View) Occupy() {
	for range cap(v.limits.Places) {
		v.limits.Places <- struct{}{}
	}
}

// OccupyProjections takes all turns of projections.
func (v *View) OccupyProjections() {
	for range cap(v.projections.turns) {
		v.projections.turns <- struct{}{}
	}
}
