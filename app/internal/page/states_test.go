// SPDX-License-Identifier: Apache-2.0

package page

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestStates: the page has the words of span.States, each with a mark. Recovered is said beside a state.
func TestStates(t *testing.T) {
	source, err := os.ReadFile("../../../web/src/text/states.ts")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): '.',$`).FindAllSubmatch(source, -1) {
		got = append(got, string(m[1]))
	}
	for _, w := range span.States() {
		if w.State != span.Recovered {
			want = append(want, string(w.State))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-words +page:\n%s", d)
	}
}
