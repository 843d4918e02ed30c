// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
)

// BenchmarkPlacing is the first look at a new Deployment with all its Pods. The time for each Pod does not depend on
// their number.
func BenchmarkPlacing(b *testing.B) {
	for _, pods := range []int{500, 4000} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := newCrowd(1, pods)
				b.StartTimer()
				c.look()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*pods), "µs/pod")
		})
	}
}
