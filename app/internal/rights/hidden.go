// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// hidden are the hidden objects of a trace. A large trace has many, and many texts: each text is read once.
type hidden struct {
	objects map[object.Ref]bool
	// mentioned has them as an attribute mentions them: see nameOf.
	mentioned map[string]bool
	uids      map[string]bool
	// words are their names and UIDs, and odd the names with characters that end a word.
	words map[string]bool
	odd   []string
}

func (h *hidden) add(o object.Ref) {
	if h.objects == nil {
		*h = hidden{map[object.Ref]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, nil}
	}
	h.objects[o], h.mentioned[nameOf(o)] = true, true
	if o.UID != "" {
		h.uids[string(o.UID)] = true
		h.word(string(o.UID))
	}
	if !kind.Node.Is(o.Kind) && o.Name != "" { // the name of a Node is also a field of its Pods
		h.word(o.Name)
	}
}

func (h *hidden) word(w string) {
	switch {
	case h.words[w]:
	case strings.ContainsFunc(w, func(r rune) bool { return !inWord(r) }):
		h.odd = append(h.odd, w)
		fallthrough
	default:
		h.words[w] = true
	}
}

// in reports whether a text has the name of a hidden object as a word, or its UID. No letter, digit, point or hyphen
// surrounds a word; a point may follow it.
func (h *hidden) in(text string) bool {
	if len(h.words) == 0 {
		return false
	}
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inWord(r) }) {
		for i := range len(run) {
			if run[i] == '.' && h.words[run[:i]] {
				return true
			}
		}
		if h.words[run] {
			return true
		}
	}
	for _, name := range h.odd {
		if hasWord(text, name) {
			return true
		}
	}
	return false
}

// hasWord reports whether a text has a word.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		begins := from == 0 || !inWord(rune(text[from-1]))
		if begins && (to == len(text) || !inWord(rune(text[to])) || text[to] == '.') {
			return true
		}
		at = from + 1
	}
}

func inWord(c rune) bool {
	return c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
