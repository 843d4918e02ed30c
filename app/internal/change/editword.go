// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// missing stands for the value of a missing field, as in kubectl.
const missing = "<none>"

// restartedAt is the annotation with which kubectl rollout restart changes a template.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// word is an edit in words.
type word struct {
	// name is that of the field, such as "image". of is the list item with the field, such as
	// "container web"; it is said only where two fields would have the same name.
	name, of string
	// rest is the change: " web:1 → web:2", " added", or empty.
	rest string
}

// Words says what changed: "image web:1 → web:2", "env MODE". Those with values come first. An added or
// removed item of a list is one of them. At most 16.
func (all Edits) Words() []string {
	items := map[string]bool{}
	for _, e := range all {
		if item := e.item(); item != "" {
			items[item] = true
		}
	}
	var words []word
	for i, e := range all {
		top, whole := itemOf(e.path, items)
		switch {
		case whole && e.item() != top:
			continue // its item says it all
		case i+1 < len(all) && strings.HasPrefix(all[i+1].path, e.path+"."):
			continue // an empty map: the fields in it come or go
		}
		words = append(words, e.word(whole))
	}
	slices.SortStableFunc(words, func(a, b word) int { return cmp.Compare(a.rank(), b.rank()) })
	count := map[string]int{}
	for _, w := range words {
		count[w.name]++
	}
	out := make([]string, 0, len(words))
	for _, w := range words {
		if count[w.name] > 1 && w.of != "" {
			w.name += " of " + w.of
		}
		out = append(out, w.name+w.rest)
	}
	return boundFields(out)
}

// item returns the path of the list item that the edit adds or removes, or "". The field of the item's
// key comes and goes with the item.
func (e *edit) item() string {
	if (e.before == nil) == (e.after == nil) {
		return ""
	}
	i := strings.LastIndexByte(e.path, '[')
	if i < 0 {
		return ""
	}
	key, field, found := strings.Cut(e.path[i+1:], "].")
	first, _, listed := strings.Cut(key, "=")
	if !found || !listed || first != field {
		return ""
	}
	return e.path[:i+len(key)+2]
}

// itemOf returns the outermost of the items with the field at path.
func itemOf(path string, items map[string]bool) (item string, found bool) {
	for i := range len(path) {
		if path[i] == ']' && items[path[:i+1]] {
			return path[:i+1], true
		}
	}
	return "", false
}

// word returns the edit in words. whole means that it stands for its whole item.
func (e *edit) word(whole bool) word {
	if whole {
		w := named(e.item())
		if w.name == "" {
			w.name, w.of = w.of, ""
		}
		return w.with(e, true)
	}
	w := named(e.path)
	switch {
	case w.name == span.Restarted && e.after == nil:
		return word{name: "restart undone"}
	case w.name == span.Restarted:
		return w
	}
	return w.with(e, false)
}

// with adds the change itself.
func (w word) with(e *edit, whole bool) word {
	before, after := shownIn(e.before), shownIn(e.after)
	if w.name == "image" {
		before, after = shortImages(before, after)
	}
	switch {
	case e.before != nil && e.after != nil && e.before.Value == e.after.Value: // there and back
	case !whole && before != "" && after != "":
		w.rest = " " + before + " → " + after
	case e.before == nil && e.after != nil:
		w.rest = " added"
	case e.before != nil && e.after == nil:
		w.rest = " removed"
	}
	return w
}

// shownIn returns the value of a field, or "" if it may not be shown.
func shownIn(l *observation.Leaf) string {
	if l == nil {
		return missing
	}
	return l.Shown
}

// digestDigits is the number of shown digits of an image's digest.
const digestDigits = 12

// shortImages returns two images without their common registry and path, and with short digests.
func shortImages(before, after string) (string, string) {
	path := func(image string) string { return image[:strings.LastIndexByte(image, '/')+1] }
	if common := path(before); common == path(after) {
		before, after = before[len(common):], after[len(common):]
	}
	short := func(image string) string {
		if i := strings.Index(image, "@sha256:"); i >= 0 {
			return image[:min(len(image), i+len("@sha256:")+digestDigits)]
		}
		return image
	}
	return short(before), short(after)
}

// rank orders words: images, replicas, other values, the rest.
func (w *word) rank() int {
	switch {
	case !strings.Contains(w.rest, "→"):
		return 3
	case w.name == "image":
		return 0
	case w.name == "replicas":
		return 1
	}
	return 2
}

// step is one part of a path: the name of a field, and the key if it is an item of a list.
type step struct{ name, key string }

// steps divides a path such as spec.ports[name=http].port or metadata.labels[example.com/team].
func steps(path string) []step {
	var out []step
	for path != "" {
		i := strings.IndexAny(path, ".[")
		switch {
		case i < 0:
			return append(out, step{name: path})
		case i > 0:
			out = append(out, step{name: path[:i]})
			path = strings.TrimPrefix(path[i:], ".")
		default:
			in, rest, _ := strings.Cut(path[1:], "]")
			if _, _, item := strings.Cut(in, "="); item && len(out) > 0 {
				out[len(out)-1].key = in
			} else {
				out = append(out, step{name: in})
			}
			path = strings.TrimPrefix(rest, ".")
		}
	}
	return out
}

// named names the field at path in the words of kubectl, without the parts that all alike fields share.
func named(path string) word {
	all := steps(path)
	pod := ""
	for _, template := range [][]string{{"spec", "jobTemplate", "spec", "template"}, {"spec", "template"}} {
		if startsWith(all, template) && len(all) > len(template) {
			all, pod = all[len(template):], "Pod "
			break
		}
	}
	switch {
	case startsWith(all, []string{"metadata", "labels"}) && len(all) == 3:
		return word{name: pod + "label " + all[2].name}
	case startsWith(all, []string{"metadata", "annotations"}) && len(all) == 3 && all[2].name == restartedAt:
		return word{name: span.Restarted}
	case startsWith(all, []string{"metadata", "annotations"}) && len(all) == 3:
		return word{name: pod + "annotation " + all[2].name}
	case len(all) > 1 && all[0] == (step{name: "spec"}):
		all = all[1:]
	}
	var w word
	var names []string
	for _, s := range all {
		if s.key == "" {
			names = append(names, s.name)
			continue
		}
		if w.of = singular(s.name) + " " + keyText(s); !strings.HasSuffix(s.name, "ontainers") {
			names = []string{w.of}
			continue
		}
		names = nil
	}
	// The usual parts of a path say nothing.
	if n := len(names); n > 1 && (names[0] == "resources" || names[n-2] == "rollingUpdate") {
		names = names[max(1, n-2):]
		if names[0] == "rollingUpdate" {
			names = names[1:]
		}
	}
	if n := len(names); n == 2 && names[0] == w.of && names[1] == "value" {
		names = names[:1]
	}
	w.name = strings.Join(names, ".")
	if len(names) > 1 && names[0] == w.of {
		w.name = w.of + " " + strings.Join(names[1:], ".")
	}
	return w
}

func startsWith(all []step, names []string) bool {
	for i, name := range names {
		if i == len(all) || all[i] != (step{name: name}) {
			return false
		}
	}
	return true
}

// singular returns the name of one item of a list.
func singular(list string) string {
	switch list {
	case "initContainers":
		return "init container"
	case "ephemeralContainers":
		return "ephemeral container"
	case "volumeMounts":
		return "mount"
	}
	return strings.TrimSuffix(list, "s")
}

// keyText returns the values of an item's key: "web" for name=web, "80/TCP" for a port, and
// "dedicated:NoSchedule" for a taint.
func keyText(s step) string {
	var values []string
	for _, part := range strings.Split(s.key, ",") {
		_, value, _ := strings.Cut(part, "=")
		values = append(values, value)
	}
	if s.name == "ports" {
		return strings.Join(values, "/")
	}
	return strings.Join(values, ":")
}
