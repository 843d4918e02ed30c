// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPauses(t *testing.T) {
	p := pauses{next: 2, longest: 7}
	var got []time.Duration
	for range 4 {
		got = append(got, p.take())
	}
	if d := cmp.Diff([]time.Duration{2, 4, 7, 7}, got); d != "" {
		t.Errorf("pauses grow up to the longest: -want +got:\n%s", d)
	}
	if !p.wait(t.Context()) {
		t.Error("a pause that is over was cut short")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if p.next = time.Hour; p.wait(ended) {
		t.Error("a pause outlived its context")
	}
}
