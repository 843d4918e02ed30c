// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// encodable is an API object of k8s.io/api: it has both encodings.
type encodable interface {
	Marshal() ([]byte, error)
}

// textField is a text that differs between the objects of one template.
type textField uint8

const (
	name textField = iota
	namespace
	uid
	version // the resourceVersion
	ownerName
	ownerUID
	hash
	app
	node
	nodeIP
	ip
	container // the ID of the first container, made of the UID
	sidecar   // the ID of the second container, made of the UID
	regarding // the name of the object of an Event
	regardingUID
	texts
)

// timeField is a time that differs between the objects of one template.
type timeField uint8

const (
	created timeField = iota
	bound
	sandboxed
	started
	ready
	deleted // the deletionTimestamp: the request and the grace period
	ended
	times
)

// values are what one object puts into its template. They never change once a body refers to them.
type values struct {
	text [texts]string
	// time holds seconds since 1970.
	time [times]int64
}

// The widths of the texts. A text has one width in all objects of a template, so that the length
// prefixes of protobuf stay valid.
const (
	uidWidth     = 36
	versionWidth = 10
	hashWidth    = 10
	appWidth     = 8
	setWidth     = appWidth + 1 + hashWidth
	podWidth     = setWidth + 1 + 5
	spaceWidth   = 8
	nodeWidth    = 10
	ipWidth      = 14
	idWidth      = 64
	eventWidth   = podWidth + 1 + 16
)

// placeholder returns a text of that width, unlike those of the other fields.
func placeholder(f textField, width int) string {
	if f == version {
		return "9876543210"
	}
	return strings.Repeat(string(rune('A'+f)), width)
}

// placeholderTime returns a time that is unlike those of the other fields.
func placeholderTime(f timeField) time.Time {
	return time.Date(2001, 1, 1+int(f), 1, 2, 3, 0, time.UTC)
}

// slot is a place in an encoded template.
type slot struct {
	at    int
	width int
	text  textField
	// isTime means that the slot is one of time, not of text.
	isTime bool
	time   timeField
}

// template is an object in both encodings, with places for the values of one object. Most objects of
// a large cluster differ in these alone, so a copy and some patches replace an encoder.
type template struct {
	json, proto           []byte
	jsonSlots, protoSlots []slot
}

// timeWidth is the width of a time in JSON without its zone and fraction, and protoTimeWidth that of
// the seconds of a timestamp in protobuf.
const timeWidth, protoTimeWidth = len("2006-01-02T15:04:05"), 6

// newTemplate encodes obj, whose variable parts are placeholders.
func newTemplate(obj encodable, widths map[textField]int) *template {
	t := &template{json: mustJSON(obj), proto: mustProto(obj)}
	for f, width := range widths {
		p := []byte(placeholder(f, width))
		for _, at := range all(t.json, p) {
			t.jsonSlots = append(t.jsonSlots, slot{at: at, width: width, text: f})
		}
		for _, at := range all(t.proto, p) {
			t.protoSlots = append(t.protoSlots, slot{at: at, width: width, text: f})
		}
	}
	for f := range times {
		at := placeholderTime(f)
		for _, i := range all(t.json, []byte(at.Format(time.RFC3339)[:timeWidth])) {
			t.jsonSlots = append(t.jsonSlots, slot{at: i, isTime: true, time: f})
		}
		for _, i := range all(t.proto, protoSeconds(nil, at.Unix())) {
			t.protoSlots = append(t.protoSlots, slot{at: i, isTime: true, time: f})
		}
	}
	return t
}

// protoSeconds appends the field of the seconds of a timestamp.
func protoSeconds(dst []byte, seconds int64) []byte {
	return binary.AppendUvarint(append(dst, 1<<3), uint64(seconds))
}

// all returns the places of part in data.
func all(data, part []byte) []int {
	var out []int
	for from := 0; ; {
		i := bytes.Index(data[from:], part)
		if i < 0 {
			return out
		}
		out = append(out, from+i)
		from += i + len(part)
	}
}

// appendJSON appends the object with these values at the resourceVersion rv.
func (t *template) appendJSON(dst []byte, v *values, rv uint64) []byte {
	start := len(dst)
	dst = append(dst, t.json...)
	var buf [32]byte
	for _, s := range t.jsonSlots {
		to := dst[start+s.at:]
		if s.isTime {
			copy(to[:timeWidth], time.Unix(v.time[s.time], 0).UTC().AppendFormat(buf[:0], "2006-01-02T15:04:05"))
			continue
		}
		v.put(to[:s.width], s.text, rv)
	}
	return dst
}

// appendProto is appendJSON in protobuf, without the envelope.
func (t *template) appendProto(dst []byte, v *values, rv uint64) []byte {
	start := len(dst)
	dst = append(dst, t.proto...)
	var buf [16]byte
	for _, s := range t.protoSlots {
		to := dst[start+s.at:]
		if s.isTime {
			copy(to[:protoTimeWidth], protoSeconds(buf[:0], v.time[s.time]))
			continue
		}
		v.put(to[:s.width], s.text, rv)
	}
	return dst
}

// put writes one text. It panics if the width is not that of the template.
func (v *values) put(to []byte, f textField, rv uint64) {
	switch f {
	case version:
		var buf [24]byte
		text := strconv.AppendUint(buf[:0], rv, 10)
		if len(text) != len(to) {
			panic(fmt.Sprintf("the resourceVersion %d has not %d digits", rv, len(to)))
		}
		copy(to, text)
	case container, sidecar:
		for i := range to {
			to[i] = '0' + byte(f-container)
		}
		copy(to, v.text[uid][:8])
		copy(to[8:], v.text[uid][24:])
	default:
		if len(v.text[f]) != len(to) {
			panic(fmt.Sprintf("the text %q of field %d has not %d bytes", v.text[f], f, len(to)))
		}
		copy(to, v.text[f])
	}
}

func mustJSON(obj any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err) // a type of k8s.io/api
	}
	return data
}

func mustProto(obj encodable) []byte {
	data, err := obj.Marshal()
	if err != nil {
		panic(err) // a type of k8s.io/api
	}
	return data
}
