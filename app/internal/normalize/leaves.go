// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxLeaves bounds the leaves of one object. All others are one leaf, with the path pathRest.
const maxLeaves = 512

const pathRest = "(more)"

// owner is a field manager's view of a part of an object: the part of its fieldsV1, and its bit in
// Leaf.Managers.
type owner struct {
	bit   uint64
	owned fields
}

// walk divides an object into leaves.
type walk struct {
	digest *digest
	kind   *kind.Kind
	// shown are the fields of the configuration whose values may be shown.
	shown []string
	out   []observation.Leaf
	// path is that of the present field; names is the same without the keys of list items.
	path, names []byte
	// owners is a stack. The owners of the present field are at its end.
	owners []owner
	// paths are recent paths: a map is faster than intern, which is shared.
	paths map[string]string
}

// maxPaths bounds the paths that a walk keeps.
const maxPaths = 1024

// walks are unused walks, with their slices.
var walks = sync.Pool{New: func() any { return &walk{paths: map[string]string{}} }}

// leaves divides an object into its fields outside the status, sorted by path, and marks the field
// managers of each. The managers are in the order of observation.State. A list is divided like
// its managedFields, or else by the usual keys of its items.
func (d *digest) leaves(obj fields, k *kind.Kind, shown []string, owned []managed) []observation.Leaf {
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool has nothing else
	defer walks.Put(w)
	w.digest, w.kind, w.shown = d, k, shown
	w.out, w.path, w.names, w.owners = w.out[:0], w.path[:0], w.names[:0], w.owners[:0]
	for i := range owned {
		if i < 64 && len(owned[i].fields) > 0 {
			w.owners = append(w.owners, owner{1 << i, owned[i].fields})
		}
	}
	for key, value := range obj {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			meta, _ := value.(fields)
			back, all := w.enter("metadata", 0, len(w.owners))
			for _, part := range []string{"labels", "annotations", "finalizers"} {
				if v := meta[part]; !empty(v) {
					w.field(part, v, back.owners, len(w.owners), all)
				}
			}
			w.leave(back)
		default:
			if !empty(value) {
				w.field(key, value, 0, len(w.owners), 0)
			}
		}
	}
	return w.bounded()
}

// empty reports whether a value at the top level counts as missing.
func empty(v any) bool {
	switch v := v.(type) {
	case fields:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// bounded returns the leaves in order of their paths, at most maxLeaves of them.
func (w *walk) bounded() []observation.Leaf {
	slices.SortFunc(w.out, compareLeaves)
	if len(w.out) > maxLeaves {
		rest := observation.Leaf{Path: pathRest}
		for _, l := range w.out[maxLeaves-1:] {
			w.digest.text(l.Path)
			w.digest.word('v', l.Value)
			rest.Managers |= l.Managers
		}
		rest.Value = w.digest.sum()
		w.out = append(w.out[:maxLeaves-1], rest)
		slices.SortFunc(w.out, compareLeaves)
	}
	return append([]observation.Leaf(nil), w.out...)
}

func compareLeaves(a, b observation.Leaf) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Value, b.Value))
}

// place is a position in the object: the lengths of the walk's path, names and owners.
type place struct{ path, names, owners int }

// enter goes to the field of that name. The owners above it are w.owners[from:to], those of the field
// begin at back.owners, and all has the bits of the managers that own everything below. leave goes
// back.
func (w *walk) enter(name string, from, to int) (back place, all uint64) {
	back = place{len(w.path), len(w.names), len(w.owners)}
	all = w.descend(from, to, name)
	name = w.word(name)
	if strings.ContainsAny(name, "./#") {
		w.path = append(append(append(w.path, '['), name...), ']')
	} else {
		if len(w.path) > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, name...)
	}
	if len(w.names) > 0 {
		w.names = append(w.names, '.')
	}
	w.names = append(w.names, name...)
	return back, all
}

// maxWord bounds a word in a path: that of a label's key.
const maxWord = 253 + 1 + 63

// word returns a part of a path as it is if it looks like a name, an address or a number. Other
// texts may be confidential: word returns a digest of them.
func (w *walk) word(s string) string {
	if plain(s) {
		return s
	}
	w.digest.text(s)
	return fmt.Sprintf("#%016x", w.digest.sum())
}

// plain reports whether a text looks like a name, an address or a number.
func plain(s string) bool {
	plain := s != "" && len(s) <= maxWord
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '/' || c == '-' || c == '_' || c == ':' || c == '*'
	}
	return plain
}

func (w *walk) leave(back place) {
	w.path, w.names, w.owners = w.path[:back.path], w.names[:back.names], w.owners[:back.owners]
}

// descend pushes the owners of a field, and returns the bits of the managers that own all of it.
func (w *walk) descend(from, to int, name string) (all uint64) {
	start := len(w.owners)
	for i := from; i < to; i++ {
		if owned, found := w.owners[i].owned["f:"+name].(fields); found {
			w.owners = append(w.owners, owner{w.owners[i].bit, owned})
		}
	}
	return w.atomic(start)
}

// atomic removes the owners from start on that own nothing below the present field. It returns their
// bits if no manager owns anything below. Otherwise they own the field itself, such as an emptied
// map of labels, and no other manager's part of it.
func (w *walk) atomic(start int) (all uint64) {
	for _, o := range w.owners[start:] {
		if len(o.owned) == 0 {
			all |= o.bit
		}
	}
	below := slices.DeleteFunc(w.owners[start:], func(o owner) bool { return len(o.owned) == 0 })
	w.owners = w.owners[:start+len(below)]
	if len(w.owners) > start {
		return 0
	}
	return all
}

// field divides one field, unless its kind leaves it out. The bits in all are those of the managers
// that own everything from further above.
func (w *walk) field(name string, v any, from, to int, all uint64) {
	back, own := w.enter(name, from, to)
	if w.observed() && !w.ofContext(name) {
		w.value(v, back.owners, all|own)
	}
	w.leave(back)
}

// observed reports whether the present field is, contains or is below an observed one.
func (w *walk) observed() bool {
	if len(w.kind.Fields) == 0 || hasPrefix(w.names, "metadata") {
		return true
	}
	for _, field := range w.kind.Fields {
		n := min(len(field), len(w.names))
		if string(w.names[:n]) == field[:n] &&
			(len(w.names) == n || w.names[n] == '.') && (len(field) == n || field[n] == '.') {
			return true
		}
	}
	return false
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// ofContext reports whether the present field is an annotation of ours: a trace context, or a time.
func (w *walk) ofContext(name string) bool {
	return hasPrefix(w.names, "metadata.annotations.") &&
		(name == object.AnnotationScheduled ||
			slices.ContainsFunc(conventions, func(c lifeline.Convention) bool { return c.Owns(name) }))
}

// value divides a value whose owners are w.owners[from:].
func (w *walk) value(v any, from int, all uint64) {
	to := len(w.owners)
	switch v := v.(type) {
	case fields:
		if len(v) > 0 {
			for name, each := range v {
				w.field(name, each, from, to, all)
			}
			return
		}
	case []any:
		if keys := w.keysOf(v); keys != nil {
			for i, item := range v {
				w.item(keys[i], item.(fields), from, to, all) //nolint:forcetypeassert // keysOf checked it
			}
			return
		}
	}
	w.leaf(v, from, all)
}

// item divides one item of a list of objects.
func (w *walk) item(key string, item fields, from, to int, all uint64) {
	path, start := len(w.path), len(w.owners)
	w.path = append(append(append(w.path, '['), key...), ']')
	for i := from; i < to; i++ {
		for member, owned := range w.owners[i].owned {
			if below, found := owned.(fields); found && keyed(member, item) {
				w.owners = append(w.owners, owner{w.owners[i].bit, below})
			}
		}
	}
	all |= w.atomic(start)
	end := len(w.owners)
	for name, each := range item {
		w.field(name, each, start, end, all)
	}
	w.owners = w.owners[:start]
	w.path = w.path[:path]
}

// keyed reports whether a member of fieldsV1, such as k:{"name":"app"}, means the item.
func keyed(member string, item fields) bool {
	text, found := strings.CutPrefix(member, "k:")
	if !found {
		return false
	}
	// Most keys are one name.
	if name, is := item["name"].(string); is && len(text) == len(`{"name":""}`)+len(name) &&
		strings.HasPrefix(text, `{"name":"`) && text[len(`{"name":"`):len(text)-len(`"}`)] == name {
		return true
	}
	var key map[string]any
	if json.Unmarshal([]byte(text), &key) != nil || len(key) == 0 {
		return false
	}
	for name, want := range key {
		if scalar(item[name]) != scalar(want) {
			return false
		}
	}
	return true
}

// scalar returns a string, number or boolean as text.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// leaf adds the present field. A manager of a part of it counts as its owner.
func (w *walk) leaf(v any, from int, all uint64) {
	for _, o := range w.owners[from:] {
		all |= o.bit
	}
	w.digest.value(v)
	l := observation.Leaf{Path: w.internPath(), Value: w.digest.sum(), Managers: all}
	if w.kind.Shows(w.names) || kind.Below(w.names, w.shown) && !w.copied() {
		if text := scalar(v); !strings.ContainsFunc(text, unicode.IsControl) {
			l.Shown = intern(text)
		}
	}
	w.out = append(w.out, l)
}

// internPath returns the present path, interned.
func (w *walk) internPath() string {
	if path, found := w.paths[string(w.path)]; found {
		return path
	}
	if len(w.paths) >= maxPaths {
		clear(w.paths)
	}
	path := intern(string(w.path))
	w.paths[path] = path
	return path
}

// copied reports whether the present field is the copy of the whole object in an annotation.
func (w *walk) copied() bool { return hasPrefix(w.names, "metadata.annotations."+lastApplied) }

// listKeys are the keys of list items in Kubernetes' API, the most telling first. In a custom
// resource, other fields than a name or type may hold a confidential value.
var (
	listKeys = [][]string{
		{"name"}, {"type"}, {"key", "effect"}, {"key"}, {"containerPort", "protocol"}, {"port", "protocol"},
		{"mountPath"}, {"devicePath"}, {"ip"}, {"topologyKey", "whenUnsatisfiable"}, {"uid"},
	}
	customListKeys = listKeys[:2]
)

// keysOf returns a key for each item, such as "name=app"; nil if an item is not an object, or lacks a
// unique key.
func (w *walk) keysOf(list []any) []string {
	if len(list) == 0 || len(list) > maxItems {
		return nil
	}
	out := make([]string, len(list))
	known := listKeys
	if w.kind.Resource == "" {
		known = customListKeys
	}
next:
	for _, names := range known {
		for i, v := range list {
			item, is := v.(fields)
			if !is {
				return nil
			}
			out[i] = ""
			for j, name := range names {
				value := scalar(item[name])
				if value == "" {
					continue next
				}
				if j > 0 {
					out[i] += ","
				}
				out[i] += name + "=" + w.word(value)
			}
			if slices.Contains(out[:i], out[i]) {
				continue next
			}
		}
		return out
	}
	return nil
}

// desired returns the digest of the desired state: of the leaves in the spec and of the labels.
func (d *digest) desired(leaves []observation.Leaf, k *kind.Kind) uint64 {
	for _, l := range leaves {
		part := k.Part(l.Path)
		if part != kind.Bookkeeping && (part != kind.Metadata || !strings.HasPrefix(l.Path, "metadata.annotations")) {
			d.text(l.Path)
			d.word('v', l.Value)
		}
	}
	return d.sum()
}
