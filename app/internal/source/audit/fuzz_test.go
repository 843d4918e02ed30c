// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"testing"
)

// FuzzBatch reads any text as a batch and as a line. There must be no panic, and each write must be
// bounded and name its object.
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
				t.Errorf("%d writes with reason %q: want writes or a reason", len(writes), reasonNames[why])
			}
			for _, w := range writes {
				if w.UID == "" && w.Name == "" && w.Controller == "" && !w.Failed() || w.End.Before(w.Start) {
					t.Errorf("a write has no object or ends before it starts: %+v", w)
				}
				if doc, err := json.Marshal(w); err == nil && len(doc) > 32<<10*6 {
					t.Errorf("a write has %d bytes in JSON, too many", len(doc))
				}
			}
		}
		_ = decodeList(text, check)
		if e, err := decode(text); err == nil {
			check(e)
		}
	})
}
