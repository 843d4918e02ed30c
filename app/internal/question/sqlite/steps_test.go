// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// TestStepCodes: each phase with steps has a number of its own.
func TestStepCodes(t *testing.T) {
	of := map[byte]string{}
	for _, p := range question.Phases() {
		code := stepCodes[p.Name]
		if p.Span == "" {
			continue
		}
		if code == 0 || code >= openStep || of[code] != "" {
			t.Errorf("phase %s has the number %d, as %q", p.Name, code, of[code])
		}
		of[code] = p.Name
	}
}

// TestSteps: a phase lasts from its first start to its last end, and damaged data are an error.
func TestSteps(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(1_800_000_000, int64(n)) }
	data := EncodeSteps([]question.Step{
		{Phase: "pull", Start: at(7), End: at(9)}, {Phase: "pull", Start: at(5), End: at(8)},
		{Phase: "start", Start: at(3)}, {Phase: "start", Start: at(4), End: at(6)},
	}, time.Time.UnixNano)
	for phase, want := range map[string]interval{
		"pull":  {began: at(5).UnixNano(), ended: at(9).UnixNano()},
		"start": {began: at(3).UnixNano(), open: true},
	} {
		if got, found, err := decodeStep(data, stepCodes[phase]); got != want || !found || err != nil {
			t.Errorf("%s: %+v, %v, %v", phase, got, found, err)
		}
	}
	if _, found, err := decodeStep(data, stepCodes["init"]); found || err != nil {
		t.Errorf("a missing phase: %v, %v", found, err)
	}
	if _, _, err := decodeStep(data[:len(data)-1], stepCodes["init"]); err == nil {
		t.Error("damaged data have no error")
	}
}
