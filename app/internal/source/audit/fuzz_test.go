// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"testing"
)

// FuzzBatch reads anything as a batch, and as a line: nothing may panic, what
// comes out is bounded, and it says which object it is about.
func FuzzBatch(f *testing.F) {
	f.Add(eventList(told()))
	f.Add(secretBody())
	f.Add([]byte(told("stage", `"Panic"`, "responseStatus", `{"code":-1e99}`)))
	f.Add([]byte(`{"items":[{"stage":"x","items":[[[[]]]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newSource(t, newSink(), nil)
		check := func(e *event) {
			if e == nil {
				return
			}
			writes, why := s.writes(e)
			if (len(writes) > 0) != (why == taken) {
				t.Errorf("%d writes, passed over as %q", len(writes), reasonNames[why])
			}
			for _, w := range writes {
				if w.UID == "" && w.Name == "" && w.Controller == "" && !w.Failed() || w.End.Before(w.Start) {
					t.Errorf("a write says too little: %+v", w)
				}
				if doc, err := json.Marshal(w); err == nil && len(doc) > 32<<10*6 {
					t.Errorf("a write takes %d bytes", len(doc))
				}
			}
		}
		_ = decodeList(text, check)
		if e, err := decode(text); err == nil {
			check(e)
		}
	})
}
