// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"testing"
	"time"
)

func TestRecall(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	r := recall{span: 20 * time.Second}
	for _, step := range []struct {
		after      time.Duration
		open, want uint64
		reason     string
	}{
		{0, 0, 0, "nothing is known"},
		{2 * time.Second, 100, 100, "nothing was known before"},
		{10 * time.Second, 150, 100, "what was so lately"},
		{12 * time.Second, 90, 90, "something older was inherited"},
		{22 * time.Second, 200, 90, "what was so lately"},
		{32 * time.Second, 300, 90, "what was so when the span began"},
		{40 * time.Second, 400, 90, "what was so when the span began"},
		{42 * time.Second, 410, 200, "what was so when the span began"},
		{90 * time.Second, 500, 410, "nothing was asked meanwhile"},
	} {
		if got := r.since(began.Add(step.after), step.open); got != step.want {
			t.Errorf("after %s: %d, want %d: %s", step.after, got, step.want, step.reason)
		}
	}
	if len(r.known) > 10 {
		t.Errorf("%d values are kept", len(r.known))
	}
	var none recall
	if none.since(began, 7) != 7 || len(none.known) != 0 {
		t.Error("the zero value keeps a value")
	}
}
