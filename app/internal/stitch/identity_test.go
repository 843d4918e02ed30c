// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"testing"
	"time"
)

// TestLearn: a container has one Pod, unless two claim it.
func TestLearn(t *testing.T) {
	claim := func(pod string) func(*identities) bool {
		return func(i *identities) bool { return i.learn("c", pod) }
	}
	for name, c := range map[string]struct {
		reason string
		claims []func(*identities) bool
		isNew  bool // the last claim
		want   string
	}{
		"First":    {"a claim", []func(*identities) bool{claim("a")}, true, "a"},
		"Again":    {"a repeated claim", []func(*identities) bool{claim("a"), claim("a")}, false, "a"},
		"Disputed": {"two claims", []func(*identities) bool{claim("a"), claim("b")}, true, ""},
		"Disputed, again": {
			"a disputed container has no Pod any more",
			[]func(*identities) bool{claim("a"), claim("b"), claim("c")}, false, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIdentities()
			var isNew bool
			for _, claim := range c.claims {
				isNew = claim(&i)
			}
			if isNew != c.isNew {
				t.Errorf("new: %t, want %t: %s", isNew, c.isNew, c.reason)
			}
			n := newNode(received(1, 1, 0, "StartContainer", keyContainerID.String("c")), 1, zero)
			if got := i.podOf(n); got != c.want {
				t.Errorf("the Pod is %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}

// TestLearnIsBounded: the oldest container is forgotten, and its Pod with it.
func TestLearnIsBounded(t *testing.T) {
	i := newIdentities()
	name := func(n int) string { return string(rune('a'+n%26)) + time.Duration(n).String() }
	for n := range maxLearned + 3 {
		i.learn(name(n), "pod-"+name(n))
	}
	if len(i.learned) != maxLearned || len(i.entries) != 2*maxLearned {
		t.Errorf("%d containers, %d entries; want %d, and twice as many", len(i.learned), len(i.entries), maxLearned)
	}
	for n, want := range map[int]bool{0: false, 2: false, 3: true, maxLearned + 2: true} {
		if got := i.pod("pod-"+name(n)) != nil; got != want {
			t.Errorf("the Pod of container %d is known: %t, want %t", n, got, want)
		}
	}
}
