// SPDX-License-Identifier: Apache-2.0

package apiproto

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-lifeline/lifeline/app/internal/recent"
)

// value decodes one value of a Go type.
type value struct {
	wire protowire.Type
	// number converts a varint, and bytes a value of any other type. Bytes of length 0 stand for the
	// zero value.
	number func(uint64) any
	bytes  func([]byte) (any, error)
}

// zero returns the zero value of the type.
func (v *value) zero() (any, error) {
	if v.wire == protowire.VarintType {
		return v.number(0), nil
	}
	return v.bytes(nil)
}

// value returns the decoder of a Go type.
func (r *registry) value(t reflect.Type) (value, error) {
	if isSpecial(t) {
		return value{wire: protowire.BytesType, bytes: special(t)}, nil
	}
	switch t.Kind() { //nolint:exhaustive // the API has no others
	case reflect.Bool:
		return value{number: func(v uint64) any { return v != 0 }}, nil
	case reflect.Int32:
		return value{number: func(v uint64) any { return int64(int32(v)) }}, nil //nolint:gosec // its encoding
	case reflect.Int64:
		return value{number: func(v uint64) any { return int64(v) }}, nil //nolint:gosec // its encoding
	case reflect.String:
		return value{wire: protowire.BytesType, bytes: str}, nil
	case reflect.Slice: // of bytes
		if t.Elem().Kind() == reflect.Uint8 {
			return value{wire: protowire.BytesType, bytes: encoded}, nil
		}
	case reflect.Struct:
		of, err := r.build(t)
		return value{wire: protowire.BytesType, bytes: func(b []byte) (any, error) { return of.object(b) }}, err
	}
	return value{}, fmt.Errorf("type %v", t)
}

// maxKept bounds the kept results of one decoder, and maxKeptSize the bytes of each.
const (
	maxKept     = 256
	maxKeptSize = 16 << 10
)

// maxShared is the maximum length of a value that objects share.
const maxShared = 64

// sharedValue is a value and its bytes.
type sharedValue struct {
	bytes string
	value any
}

// shared returns a decoder that remembers recent results: most strings and times of an object are
// those of the version before. A result takes the place of one with the same hash.
func shared(decode func([]byte) (any, error)) func([]byte) (any, error) {
	var all [1024]atomic.Pointer[sharedValue]
	return func(b []byte) (any, error) {
		if len(b) > maxShared {
			return decode(b)
		}
		at := &all[maphash.Bytes(seed, b)%uint64(len(all))]
		if s := at.Load(); s != nil && s.bytes == string(b) {
			return s.value, nil
		}
		v, err := decode(b)
		if err != nil {
			return nil, err
		}
		s := &sharedValue{value: v}
		if text, is := v.(string); is && text == string(b) {
			s.bytes = text
		} else {
			s.bytes = string(b)
		}
		at.Store(s)
		return v, nil
	}
}

var (
	str           = shared(func(b []byte) (any, error) { return text(b), nil })
	sharedMoments = shared(moment)

	seed = maphash.MakeSeed()
	// seed2 makes hashes long enough to stand for the hashed bytes.
	seed2 = maphash.MakeSeed()
)

// text returns a string as JSON holds it.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// encoded returns bytes as JSON holds them.
func encoded(b []byte) (any, error) { return base64.StdEncoding.EncodeToString(b), nil }

var (
	marshaler   = reflect.TypeFor[json.Marshaler]()
	unmarshaler = reflect.TypeFor[interface{ Unmarshal(data []byte) error }]()
)

// isSpecial reports whether the JSON of a type is not that of its fields: a type with a method for
// JSON, or a list that is a message in protobuf.
func isSpecial(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshaler) && (p.Implements(marshaler) || t.Kind() != reflect.Struct)
}

// special returns the decoder of a special type.
func special(t reflect.Type) func([]byte) (any, error) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return sharedMoments
	case reflect.TypeFor[metav1.MicroTime]():
		return microMoment
	case reflect.TypeFor[resource.Quantity]():
		return quantity
	case reflect.TypeFor[metav1.FieldsV1]():
		return kept(fieldsV1)
	}
	return func(b []byte) (any, error) { return throughJSON(t, b) }
}

// throughJSON decodes a value of a Go type, and its JSON.
func throughJSON(t reflect.Type, b []byte) (any, error) {
	v := reflect.New(t)
	if t.Kind() == reflect.Slice {
		v.Elem().Set(reflect.MakeSlice(t, 0, 0)) // as the generated code does
	}
	into := v.Interface().(interface{ Unmarshal(data []byte) error }) //nolint:forcetypeassert // isSpecial checked it
	if err := into.Unmarshal(b); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	var out any
	return out, utiljson.Unmarshal(encoded, &out)
}

func moment(b []byte) (any, error) {
	var t metav1.Time
	if err := t.Unmarshal(b); err != nil || t.IsZero() {
		return nil, err
	}
	return t.UTC().Format(time.RFC3339), nil
}

func microMoment(b []byte) (any, error) {
	var t metav1.MicroTime
	if err := t.Unmarshal(b); err != nil || t.IsZero() {
		return nil, err
	}
	return t.UTC().Format(metav1.RFC3339Micro), nil
}

// kept returns a decoder that keeps its recent results, and returns the same one for the same bytes.
func kept(decode func([]byte) (any, error)) func([]byte) (any, error) {
	cache := recent.Cache[[2]uint64, any]{Size: maxKept}
	return func(b []byte) (any, error) {
		if len(b) > maxKeptSize {
			return decode(b)
		}
		key := [2]uint64{maphash.Bytes(seed, b), maphash.Bytes(seed2, b)}
		if v, found := cache.Get(key); found {
			return v, nil
		}
		v, err := decode(b)
		if err == nil {
			cache.Put(key, v)
		}
		return v, err
	}
}

// quantity decodes a Quantity. The server sends its canonical form, as in JSON.
func quantity(b []byte) (any, error) { return textOfMessage(b, "0") }

// fieldsV1 decodes a FieldsV1, but not its JSON.
func fieldsV1(b []byte) (any, error) { return textOfMessage(b, "null") }

// textOfMessage returns the first field of a message that has no other, or missing.
func textOfMessage(b []byte, missing string) (any, error) {
	if len(b) == 0 {
		return missing, nil
	}
	number, wire, n := protowire.ConsumeTag(b)
	if n < 0 || number != 1 || wire != protowire.BytesType {
		return nil, errDamaged
	}
	v, m := protowire.ConsumeBytes(b[n:])
	if m < 0 || n+m != len(b) {
		return nil, errDamaged
	}
	return text(v), nil
}
