// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
)

func FuzzWork(f *testing.F) {
	f.Add("pull image web:2", int64(time.Second), []byte{1})
	f.Add("", int64(0), []byte{1, 200, 'a'})
	f.Add("a\nb", int64(1<<62), []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1})
	f.Fuzz(func(t *testing.T, label string, ns int64, data []byte) {
		want := []insight.Work{{Label: text(label), Duration: time.Duration(max(0, ns))}, {Label: "b", Duration: 1}}
		if diff := cmp.Diff(want, decodeWork(encodeWork(want))); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		decodeWork(data) // no panic
	})
}
