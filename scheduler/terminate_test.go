// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTerminate(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		flush  bool
		want   []string
	}{
		"leader election": {reason: "app.Run exits after cancel", flush: true, want: []string{"flush", "cancel"}},
		"without":         {reason: "run sends the spans after app.Run", want: []string{"cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			var flush atomic.Pointer[func()]
			if f := func() { got = append(got, "flush") }; test.flush {
				flush.Store(&f)
			}
			signal := make(chan struct{})
			close(signal)
			terminate(signal, &flush, func() { got = append(got, "cancel") })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", test.reason, diff)
			}
		})
	}
}
