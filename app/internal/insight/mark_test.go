// SPDX-License-Identifier: Apache-2.0

package insight_test

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestMark(t *testing.T) {
	b := spantest.New("mark")
	root := add(b, nil, "root", 0, 100)
	slow := add(b, root, "slow", 0, 100)
	fast := add(b, root, "fast", 0, 10)
	end := slow.End.Time
	insight.Mark(b.Trace, end)
	insight.Mark(b.Trace, end)
	for s, want := range map[*span.Span]int{slow: 1, fast: 0} {
		got := 0
		for _, a := range s.Attributes {
			if a.Key == span.KeyCriticalPath {
				got++
			}
		}
		if got != want {
			t.Errorf("span %s has %d marks, want %d", s.Name, got, want)
		}
	}
}
