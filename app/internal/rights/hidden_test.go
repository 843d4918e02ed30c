// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestHidden: a text has a name as a word only. Random texts have the words that a search for each of them finds.
func TestHidden(t *testing.T) {
	var h hidden
	h.add(spantest.Ref("", "Pod", "web-1"))
	h.add(spantest.Ref("rbac.authorization.k8s.io", "Role", "system:web"))
	h.add(spantest.Ref("", "Node", "node-1"))
	for text, want := range map[string]bool{
		"":                          false,
		"web-1":                     true,
		"shop/web-1: not ready":     true,
		"waits for web-1.":          true,
		"web-1.shop.svc":            true,
		"web-1-x, web-10, my.web-1": false,
		"Role system:web is gone":   true,
		"subsystem:web":             false,
		"on node-1":                 false,
		"wéb-1 é web-1":             true,
	} {
		if got := h.in(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab-.: é")
	text := func(n int) string {
		out := make([]rune, random.IntN(n))
		for i := range out {
			out[i] = letters[random.IntN(len(letters))]
		}
		return string(out)
	}
	for range 20_000 {
		var h hidden
		names := []string{text(4), text(4), text(5)}
		for _, name := range names {
			h.add(object.Ref{Kind: object.Kind{Kind: "Pod"}, Name: name})
		}
		h.add(object.Ref{Kind: object.Kind{Kind: "Node"}, UID: types.UID(text(4))})
		of, want := text(12), false
		for o := range h.objects {
			for _, word := range []string{o.Name, string(o.UID)} {
				want = want || word != "" && hasWord(of, word)
			}
		}
		if got := h.in(of); got != want {
			t.Fatalf("%q of %v: %t, want %t", of, h.objects, got, want)
		}
	}
}
