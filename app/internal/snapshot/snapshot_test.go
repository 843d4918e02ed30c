// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// epoch is the base of the times in the tests.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// cluster is a value of all shapes.
type cluster struct {
	Name   string
	Things []*thing
	Counts map[key]uint64
	Kinds  map[string]*kind
	Other  *kind
	// hidden is saved, and follows is not.
	hidden  *kind
	follows string `state:"-"`
}

type key struct {
	ID   [2]byte
	Name string
	N    uint8
}

type thing struct {
	*kind
	At    time.Time
	Small int32
	Large int64
	Sum   uint64
	On    bool
	Trace [16]byte
	Span  [8]byte
	Tags  []string
	Kinds []*kind
	Key   key
	Lives []bool
}

type kind struct{ Name, Note string }

var sharing = Sharing{Near: []any{(*kind)(nil), []string(nil), []*kind(nil)}}

// many returns a cluster of n things that share all that they can share.
func many(n int) *cluster {
	pod, tags := &kind{Name: "Pod", Note: "curl/\xff\x00"}, []string{"a", "", "b"}
	kinds := []*kind{pod, {Name: "Node"}}
	c := &cluster{
		Name: "test", hidden: kinds[1],
		Counts: map[key]uint64{{ID: [2]byte{1}}: 1, {ID: [2]byte{0, 1}}: math.MaxUint64, {Name: "b"}: 0, {N: 255}: 7},
		Kinds:  map[string]*kind{"": {}, "pod": pod},
	}
	for i := range n {
		c.Things = append(c.Things, &thing{
			kind: pod, At: epoch.Add(time.Duration(i)), Small: math.MinInt32, Large: math.MaxInt64,
			Sum: uint64(i), On: i%2 == 0, Trace: [16]byte{1, 15: byte(i)}, Span: [8]byte{7: 1},
			Tags: tags, Kinds: kinds, Key: key{Name: fmt.Sprintf("thing-%d", i)}, Lives: []bool{true, false},
		})
	}
	return c
}

var compareAll = cmp.AllowUnexported(cluster{}, thing{})

func save[T any](tb testing.TB, s Sharing, v *T) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := New[T](s).Save(&out, epoch, v); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func restore[T any](s Sharing, state []byte) (*T, error) {
	v := new(T)
	return v, New[T](s).Restore(bytes.NewReader(state), v)
}

func TestFormat(t *testing.T) {
	want := many(5000)
	state := save(t, sharing, want)
	want.follows = "the rest"
	if !bytes.Equal(state, save(t, sharing, want)) {
		t.Error("a field with the tag is saved")
	}
	want.follows = ""
	got, err := restore[cluster](sharing, state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, compareAll); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if !bytes.Equal(state, save(t, sharing, got)) {
		t.Error("the restored value is saved differently")
	}
	first, last := got.Things[0], got.Things[len(got.Things)-1]
	for name, same := range map[string]bool{
		"embedded pointer":    first.kind == last.kind,
		"slice":               &first.Tags[0] == &last.Tags[0],
		"slice of pointers":   &first.Kinds[0] == &last.Kinds[0],
		"element":             first.kind == first.Kinds[0],
		"value of a map":      first.kind == got.Kinds["pod"],
		"field not exported":  first.Kinds[1] == got.hidden,
		"slices not the same": &first.Lives[0] != &last.Lives[0],
	} {
		if !same {
			t.Errorf("%s: shared otherwise than before", name)
		}
	}
}

// TestRestoreInto: a restoration keeps the fields that the state lacks, and adds to maps.
func TestRestoreInto(t *testing.T) {
	pod := &kind{Note: "known"}
	got := &cluster{Name: "here", Other: pod, Kinds: map[string]*kind{"b": {}}, Things: []*thing{{}, {}}}
	state := save(t, Sharing{}, &cluster{
		Other: &kind{Name: "Pod"}, Kinds: map[string]*kind{"a": {}}, Things: []*thing{{kind: &kind{}}},
	})
	if err := New[cluster](Sharing{}).Restore(bytes.NewReader(state), got); err != nil {
		t.Fatal(err)
	}
	want := &cluster{
		Name: "here", Other: &kind{Name: "Pod", Note: "known"}, Kinds: map[string]*kind{"a": {}, "b": {}},
		Things: []*thing{{kind: &kind{}}},
	}
	if diff := cmp.Diff(want, got, compareAll); diff != "" || got.Other != pod {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKnownValues: the memory of a saving does not grow with the value, except for far values.
func TestKnownValues(t *testing.T) {
	want := many(3 * maxKnown)
	for i, one := range want.Things {
		one.kind = &kind{Note: fmt.Sprint(i)}
	}
	for name, tt := range map[string]struct {
		sharing Sharing
		least   int
		most    int
	}{
		"near": {sharing, 0, maxKnown + 8},
		"far":  {Sharing{Far: []any{(*kind)(nil)}}, len(want.Things), math.MaxInt},
	} {
		f := New[cluster](tt.sharing)
		var out bytes.Buffer
		w := f.writer(&out, epoch)
		f.root.save(w, reflect.ValueOf(want).Elem())
		if n := len(w.texts.numbers); n > maxKnown+8 {
			t.Errorf("%s: %d texts are known, want %d at most", name, n, maxKnown+8)
		}
		if n := len(w.shared[0].numbers); n > tt.most || n < tt.least {
			t.Errorf("%s: %d kinds are known, want %d to %d", name, n, tt.least, tt.most)
		}
		state := save(t, tt.sharing, want)
		got, err := restore[cluster](tt.sharing, state)
		if err != nil {
			t.Fatal(err)
		}
		last := len(want.Things) - 99
		if diff := cmp.Diff(want.Things[last:], got.Things[last:], compareAll); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if !bytes.Equal(state, save(t, tt.sharing, got)) {
			t.Errorf("%s: the restored value is saved differently", name)
		}
	}
}

// TestReleases: each release reads the state of the other one. Each has a field in each struct that the
// other one lacks. Some have the first reference to a value to which known fields refer later.
func TestReleases(t *testing.T) {
	older := olderRelease(t, nil)
	newer := newerRelease(t, older)
	olderRelease(t, newer)
}

func olderRelease(t *testing.T, newer []byte) []byte {
	type (
		part struct {
			Name string
			Gone bool
		}
		item struct {
			*part
			Count int64
			Gone  map[string][]*part
		}
		root struct {
			Gone, Parts []*part
			Items       []*item
			Last        time.Time
		}
	)
	s := Sharing{Near: []any{(*part)(nil)}}
	a, b := &part{"a", true}, &part{"b", true}
	if newer == nil {
		return save(t, s, &root{
			Gone: []*part{a}, Parts: []*part{a, b}, Last: epoch,
			Items: []*item{{part: a, Count: 7, Gone: map[string][]*part{"x": {a, {Name: "c"}}}}},
		})
	}
	got, err := restore[root](s, newer)
	if err != nil {
		t.Fatal(err)
	}
	want := &root{
		Parts: []*part{{Name: "b"}, {Name: "a"}}, Items: []*item{{part: &part{Name: "a"}, Count: -1}}, Last: epoch,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(item{})); diff != "" {
		t.Errorf("the older release: -want +got:\n%s", diff)
	}
	if got.Parts[1] != got.Items[0].part {
		t.Error("the older release does not share a value")
	}
	return nil
}

func newerRelease(t *testing.T, older []byte) []byte {
	type (
		part struct{ New, Name string }
		made struct {
			Time  time.Time
			Parts []*part
		}
		item struct {
			New   *made
			Count int64
			*part
		}
		root struct {
			New   map[[2]byte][]*made
			ID    [16]byte
			Span  [8]byte
			Lists [][]string
			Parts []*part
			Items []*item
			Last  time.Time
		}
	)
	s := Sharing{Near: []any{(*part)(nil), []string(nil), (*made)(nil)}}
	a, b := &part{"new", "a"}, &part{"new", "b"}
	of, list := &made{epoch, []*part{a}}, []string{"x", "y"}
	got, err := restore[root](s, older)
	if err != nil {
		t.Fatal(err)
	}
	want := &root{
		Parts: []*part{{Name: "a"}, {Name: "b"}}, Items: []*item{{Count: 7, part: &part{Name: "a"}}}, Last: epoch,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(item{})); diff != "" {
		t.Errorf("the newer release: -want +got:\n%s", diff)
	}
	return save(t, s, &root{
		New: map[[2]byte][]*made{{1}: {of}, {2}: {of, {}}}, ID: [16]byte{1}, Span: [8]byte{1},
		Lists: [][]string{list, list}, Parts: []*part{b, a}, Items: []*item{{New: of, Count: -1, part: a}}, Last: epoch,
	})
}

func TestNewPanics(t *testing.T) {
	type (
		circle struct{ Next []*struct{ C *int } }
		many   struct {
			A [65]byte
			B any
		}
		empty struct {
			N int `state:"-"`
		}
		named  struct{ A struct{ N int } }
		ring   struct{ Rings []*ring }
		fields struct {
			A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5 bool
			B6, B7, B8, B9, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1 bool
			D2, D3, D4, D5, D6, D7, D8, D9, E0, E1, E2, E3, E4, E5, E6, E7 bool
			E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, G3 bool
			G4                                                             bool
		}
		twice struct {
			A reflect.Method
			B kind
		}
	)
	for name, try := range map[string]func(){
		"no name":     func() { New[circle](Sharing{}) },
		"interface":   func() { New[many](Sharing{}) },
		"no field":    func() { New[empty](Sharing{}) },
		"anonymous":   func() { New[named](Sharing{}) },
		"itself":      func() { New[ring](Sharing{}) },
		"many fields": func() { New[fields](Sharing{}) },
		"function":    func() { New[twice](Sharing{}) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "snapshot: ") {
					t.Errorf("%s: got %s, want a panic", name, text)
				}
			}()
			try()
		}()
	}
}

func TestTime(t *testing.T) {
	other := time.FixedZone("other", 3600)
	cases := map[string]struct {
		reason     string
		time, want time.Time
	}{
		"zero":        {"no time stays none", time.Time{}, time.Time{}},
		"epoch":       {"the base itself is a time", epoch, epoch},
		"nanoseconds": {"no digit is lost", epoch.Add(999_999_999), epoch.Add(999_999_999)},
		"before":      {"a time before the base", epoch.Add(-time.Nanosecond), epoch.Add(-time.Nanosecond)},
		"local":       {"a local time stays local", epoch.Local(), epoch.Local()},
		"other zone":  {"any other becomes local", epoch.In(other), epoch.Local()},
		"first":       {"the earliest second", time.Unix(math.MinInt64, 0).UTC(), time.Unix(math.MinInt64, 0).UTC()},
		"last":        {"the last second", time.Unix(math.MaxInt64, 1).UTC(), time.Unix(math.MaxInt64, 1).UTC()},
		"far": {
			"a year that a user wrote",
			time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		},
	}
	type moment struct{ At time.Time }
	f := New[moment](Sharing{})
	for _, base := range []time.Time{{}, epoch, time.Unix(math.MaxInt64, 0)} {
		for name, tt := range cases {
			var out bytes.Buffer
			var got moment
			err := errors.Join(f.Save(&out, base, &moment{tt.time}), f.Restore(&out, &got))
			if got.At != tt.want || err != nil {
				t.Errorf("%s, base %s: %s: got %v and error %v, want %v", name, base, tt.reason, got.At, err, tt.want)
			}
		}
	}
}

// content returns a state with that schema, and with these bytes as the value.
func content(tb testing.TB, schema string, value ...byte) []byte {
	tb.Helper()
	c := append(binary.AppendUvarint(nil, uint64(len(schema))), schema...)
	return append(append([]byte(magic), Version), blocks(tb, append(append(c, 0), value...))...)
}

// TestRestoreRefuses: a state that is no value of the type gives an error of the format, and no panic.
func TestRestoreRefuses(t *testing.T) {
	const schema = `{"cluster":["Things []*thing","Other #*kind","New #*kind"],"kind":["Name text"],` +
		`"thing":["kind #*kind","At time","Small int","Trace bytes16","Key key"],"key":["N uint","ID bytes2"]}`
	long := strings.Repeat("[]", maxShape) + "text"
	cases := map[string]struct {
		reason string
		state  []byte
	}{
		"NoHead":      {"a head is missing", nil},
		"ShortHead":   {"half a head", []byte(magic)},
		"OtherHead":   {"something else", []byte("lifeline motor \n\x02")},
		"Version":     {"another version", append([]byte(magic), Version+1)},
		"NoSchema":    {"nothing is no value", append(append([]byte(magic), Version), blocks(t, nil)...)},
		"BadSchema":   {"the schema is cut", content(t, schema[:99], 0)},
		"LongSchema":  {"the schema is too long", content(t, strings.Repeat(" ", maxSchema+1), 0)},
		"NoType":      {"the type is missing", content(t, `{}`, 0)},
		"NoFields":    {"a struct without fields", content(t, `{"cluster":[]}`, 0)},
		"ManyFields":  {"too many fields", content(t, `{"cluster":["A text"`+strings.Repeat(`,"B text"`, 64)+`]}`, 0)},
		"NoShape":     {"a field without a shape", content(t, `{"cluster":["New"]}`, 0)},
		"LongShape":   {"a shape is too long", content(t, `{"cluster":["New `+long+`"]}`, 0)},
		"OpenMap":     {"a map without values", content(t, `{"cluster":["New map[text"]}`, 0)},
		"NoBytes":     {"an array without a size", content(t, `{"cluster":["New bytes0"]}`, 0)},
		"Circle":      {"a struct in itself", content(t, `{"cluster":["New []new"],"new":["New *new"]}`, 0)},
		"SharedRing":  {"a shared struct in itself", content(t, `{"cluster":["New #*new"],"new":["New #*new"]}`, 0)},
		"OtherType":   {"a field of another type", content(t, `{"cluster":["Name int"]}`, 0)},
		"NotShared":   {"a field without numbers", content(t, `{"cluster":["Things []#*thing"]}`, 0)},
		"NoValue":     {"the value is missing", content(t, schema)},
		"Rest":        {"more follows the value", content(t, schema, 0, 0)},
		"NoNumber":    {"a reference to nothing", content(t, schema, 0b10, 0)},
		"NextNumber":  {"a reference to a later value", content(t, schema, 0b10, 2)},
		"LastNumber":  {"a reference to a later value", content(t, schema, append([]byte{0b10}, huge()...)...)},
		"SkippedNext": {"a skipped reference to a later value", content(t, schema, 0b100, 2)},
		"NextText":    {"a text of a later value", content(t, schema, 0b10, 1, 1, 2)},
		"NoKind":      {"an embedded pointer is nil", content(t, schema, 1, 1, 0)},
		"Nanoseconds": {"a second has only so many", content(t, schema, 1, 1, 0b10, 0, 0x80, 0xa8, 0xd6, 0xb9, 0x07)},
		"Small":       {"more than 32 bits", content(t, schema, append([]byte{1, 1, 0b100}, huge()...)...)},
		"Array":       {"an array of one byte", content(t, schema, 1, 1, 0b1000, 1, 1, 'a')},
		"NoArray":     {"an array of no byte", content(t, schema, 1, 1, 0b1000, 0)},
		"Byte":        {"more than 8 bits", content(t, schema, append([]byte{1, 1, 0b10000, 1}, huge()...)...)},
		"Raw":         {"half an array", content(t, schema, 1, 1, 0b10000, 2, 1)},
		"LongNumber":  {"a number has at most 10 bytes", content(t, schema, bytes.Repeat([]byte{0xff}, 12)...)},
		"LongSlice":   {"the elements are missing", content(t, schema, append([]byte{1}, huge()...)...)},
		"LongText":    {"the bytes are missing", content(t, schema, append([]byte{0b10, 1, 1, 1}, huge()...)...)},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := restore[cluster](sharing, tt.state); !errors.Is(err, ErrFormat) {
				t.Errorf("%s: got error %v, want ErrFormat", tt.reason, err)
			}
		})
	}
	if _, err := restore[cluster](sharing, content(t, schema, 0)); err != nil {
		t.Errorf("the schema itself gives %v", err)
	}
}

// huge returns the largest number.
func huge() []byte { return binary.AppendUvarint(nil, math.MaxUint64) }

// TestRestoreDamaged reads a state that ends early or has damaged bytes inside whole blocks.
func TestRestoreDamaged(t *testing.T) {
	state := save(t, sharing, many(2))
	all, err := unblock(NewBlockReader(bytes.NewReader(state[len(magic)+1:])))
	if err != nil {
		t.Fatal(err)
	}
	f := New[cluster](sharing)
	try := func(content []byte) error {
		in := append(append([]byte(magic), Version), blocks(t, content)...)
		return f.Restore(bytes.NewReader(in), new(cluster))
	}
	for i := range all {
		if err := try(all[:i]); !errors.Is(err, ErrFormat) {
			t.Errorf("%d of %d bytes gave %v, want ErrFormat", i, len(all), err)
		}
		for bit := range 8 {
			bad := bytes.Clone(all)
			bad[i] ^= 1 << bit
			if err := try(bad); err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("byte %d, bit %d: gave %v, want ErrFormat or a value", i, bit, err)
			}
		}
	}
}

// TestSaveFails returns the first error of the output.
func TestSaveFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, after := range []int{0, 1, 2, 3} {
		if err := New[cluster](sharing).Save(&failing{after, broken}, epoch, many(5000)); !errors.Is(err, broken) {
			t.Errorf("Save after %d good writes gave %v, want %v", after, err, broken)
		}
	}
}

// failing fails after some good writes.
type failing struct {
	good int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.good == 0 {
		return 0, f.err
	}
	f.good--
	return len(p), nil
}
