// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// gone stands for the version of an object that was removed.
const gone = math.MaxUint64

// lastSeen reads from a recording the last resourceVersion of each object, by
// UID.
func lastSeen(t testing.TB, file string) map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type thing struct {
		UID             string `json:"uid"`
		ResourceVersion uint64 `json:"resourceVersion"`
	}
	seen := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		var o struct {
			State *thing `json:"state"`
			Gone  *thing `json:"gone"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("cannot read recording %s: %v", file, err)
		}
		switch {
		case o.Gone != nil:
			seen[o.Gone.UID] = gone
		case o.State != nil:
			seen[o.State.UID] = max(seen[o.State.UID], o.State.ResourceVersion)
		}
	}
	return seen
}
