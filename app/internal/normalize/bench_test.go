// SPDX-License-Identifier: Apache-2.0

package normalize

import "testing"

func BenchmarkObject(b *testing.B) {
	for _, name := range []string{"pod", "deployment", "node"} {
		b.Run(name, func(b *testing.B) {
			u := read(b, name)
			b.ReportAllocs()
			for b.Loop() {
				normalizer.Object(u)
			}
		})
	}
}
