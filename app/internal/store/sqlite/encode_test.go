// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// FuzzDecode decodes any bytes without a panic. A decoded span stays equal through encode and
// decode.
func FuzzDecode(f *testing.F) {
	for _, tr := range []*span.Trace{spantest.Apply(), spantest.Hostile(), spantest.CrashLoop()} {
		for _, s := range tr.Spans {
			data, err := encode(s)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, again span.Span
		by := &maker{scope: span.Scope{Name: "filters"}}
		if decode(&first, data, by) != nil {
			return
		}
		once, err := encode(&first)
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(&again, once, by); err != nil {
			t.Fatal(err)
		}
		if twice, err := encode(&again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x became %x, %v", once, twice, err)
		}
	})
}
