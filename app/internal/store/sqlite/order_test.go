// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestInOrder compares the order of rows with ORDER BY amends, revision, seq, id.
func TestInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 500)
	for i := range rows {
		rows[i].Span = &span.Span{ID: trace.SpanID{byte(i), byte(random.IntN(256)), byte(i >> 8)}}
		rows[i].place = place{amends: random.IntN(2) == 0, revision: int64(random.IntN(3)), seq: random.IntN(5)}
	}
	number := map[bool]int{true: 1}
	for i, got := 1, inOrder(slices.Clone(rows)); i < len(got); i++ {
		a, b := got[i-1], got[i]
		if cmp.Or(
			number[a.amends]-number[b.amends], cmp.Compare(a.revision, b.revision), a.seq-b.seq,
			bytes.Compare(a.ID[:], b.ID[:]),
		) >= 0 {
			t.Fatalf("row %d: %+v and %s before %+v and %s", i, a.place, a.ID, b.place, b.ID)
		}
	}
}
