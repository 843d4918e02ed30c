// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/binary"
	"encoding/json"
	"strings"
)

// maxManaged bounds the decoded fieldsV1 that a Normalizer keeps. Most of them are those of the version
// before, or of the other Pods of a ReplicaSet. maxManagedSize bounds the JSON of each.
const (
	maxManaged     = 256
	maxManagedSize = 16 << 10
)

// managed are the fields of one manager.
type managed struct {
	// fields are the fields outside the status; nil means none.
	fields fields
	// digest is that of all fields.
	digest uint64
	// shared is true for an object decoded by package apiproto.
	shared bool
}

// managed returns the fields in a fieldsV1: decoded, or as JSON in a string. They must not be changed.
func (n *Normalizer) managed(v any, d *digest) managed {
	text, isText := v.(string)
	if !isText {
		m, _ := v.(fields)
		return managedBy(m, d)
	}
	if m, found := n.recent.Get(text); found {
		return m
	}
	var m managed
	if sum, ok := d.status(text); ok {
		m.digest = sum
	} else {
		m = managedBy(parseManaged(text), d)
	}
	m.shared = true
	if len(text) <= maxManagedSize {
		n.recent.Put(text, m)
	}
	return m
}

func managedBy(all fields, d *digest) managed {
	d.value(all)
	m := managed{digest: d.sum()}
	if _, status := all["f:status"]; len(all) > 1 || !status {
		m.fields = all
	}
	return m
}

// onlyStatus is the beginning of the fields of a component that writes the status.
const onlyStatus = `{"f:status":`

// status returns the digest of fields of the status alone, in the order of the API server. It is that of
// the decoded fields. ok is false for all others.
//
// The fields of each Pod's status differ, since they contain its addresses.
func (d *digest) status(text string) (sum uint64, ok bool) {
	if !strings.HasPrefix(text, onlyStatus) {
		return 0, false
	}
	from := len(d.form)
	if text, ok = d.inOrder(text); !ok || text != "" || binary.LittleEndian.Uint64(d.form[from+1:]) != 1 {
		d.form = d.form[:from]
		return 0, false
	}
	return d.sum(), true
}

// inOrder adds an object of objects at the beginning of text. ok is false for keys in another order, and
// for any JSON that parseObject does not decode.
func (d *digest) inOrder(text string) (rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, "{"); !ok {
		return "", false
	}
	size, n, before := len(d.form)+1, uint64(0), ""
	d.word('{', 0)
	for !strings.HasPrefix(text, "}") {
		if n > 0 {
			if text, ok = strings.CutPrefix(text, ","); !ok {
				return "", false
			}
		}
		var key string
		if key, text, ok = parseKey(text); !ok || n > 0 && key <= before {
			return "", false
		}
		d.text(key)
		if text, ok = d.inOrder(text); !ok {
			return "", false
		}
		before, n = key, n+1
	}
	binary.LittleEndian.PutUint64(d.form[size:], n)
	return text[1:], true
}

// parseManaged decodes a fieldsV1. It has objects in objects, and no other values. The result shares
// memory with text.
func parseManaged(text string) fields {
	if out, rest, ok := parseObject(text); ok && rest == "" {
		return out
	}
	var out fields
	_ = json.Unmarshal([]byte(text), &out) // malformed fields own nothing
	return out
}

// nothing is an object without members.
var nothing any = fields{}

// parseObject decodes an object of objects at the beginning of text. ok is false for any other JSON,
// and for JSON with blanks.
func parseObject(text string) (out fields, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, "{"); !ok {
		return nil, "", false
	}
	out = fields{}
	for !strings.HasPrefix(text, "}") {
		if len(out) > 0 {
			if text, ok = strings.CutPrefix(text, ","); !ok {
				return nil, "", false
			}
		}
		var key string
		if key, text, ok = parseKey(text); !ok {
			return nil, "", false
		}
		if below, found := strings.CutPrefix(text, "{}"); found {
			out[key], text = nothing, below
			continue
		}
		var below fields
		if below, text, ok = parseObject(text); !ok {
			return nil, "", false
		}
		out[key] = below
	}
	return out, text[1:], true
}

// parseKey decodes a key and the colon after it.
func parseKey(text string) (key, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, `"`); !ok {
		return "", "", false
	}
	end := strings.Index(text, `":`)
	for end > 0 && text[end-1] == '\\' { // as in k:{\"name\":\"app\"}
		next := strings.Index(text[end+1:], `":`)
		if next < 0 {
			return "", "", false
		}
		end += 1 + next
	}
	if end < 0 {
		return "", "", false
	}
	key, rest = text[:end], text[end+2:]
	if strings.Contains(key, `\`) {
		if plain := strings.ReplaceAll(key, `\"`, `"`); !strings.Contains(plain, `\`) {
			return plain, rest, true
		}
		if json.Unmarshal([]byte(`"`+key+`"`), &key) != nil {
			return "", "", false
		}
	}
	return key, rest, true
}
