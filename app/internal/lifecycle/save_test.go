// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

func saved(tb testing.TB, e *Engine) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := e.Save(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func restored(tb testing.TB, e *Engine) *Engine {
	tb.Helper()
	r, err := Restore(e.opts, bytes.NewReader(saved(tb, e)))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// given holds the results of an engine at one time: taken, open and amended traces.
type given struct {
	Taken, Open, Amended []*span.Trace
	Problems             problem.List
}

func (g *given) outline() string {
	return outline(slices.Concat(g.Taken, g.Open, g.Amended)) + fmt.Sprintf("%+v", g.Problems)
}

func ask(e *Engine, now time.Time) given {
	g := given{Taken: e.Take(now), Open: e.Traces(now), Amended: e.Amendments(), Problems: e.Problems(now)}
	slices.SortFunc(g.Amended, func(a, b *span.Trace) int { return compareIDs(a.ID, b.ID) })
	return g
}

// TestRestoredGoesOn saves and restores at every k-th observation of every
// recording: from then on the restored engine gives the same as one that was
// left alone. Together, the runs of a recording save at each observation; under -short, at some of them.
func TestRestoredGoesOn(t *testing.T) {
	for name, seen := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := max(7, len(seen)/20)
			from, to := 0, k
			if testing.Short() {
				from = len(seen) % k
				to = from + 1
			}
			for ; from < to; from++ {
				goesOn(t, seen, from, k)
			}
		})
	}
}

// goesOn feeds two engines alike and compares them at every fifth observation. One of them is saved
// and restored at every k-th observation: between observations, between Take and Traces, and with
// pending amendments. Some observations come late, after the handing out of their traces.
func goesOn(t *testing.T, seen []*observation.Observation, from, k int) {
	t.Helper()
	var late []*observation.Observation
	left, moved := New(aftermathOptions), New(aftermathOptions)
	var taken, amended int
	check := func(at int, now time.Time) {
		want, got := ask(left, now), ask(moved, now)
		taken, amended = taken+len(want.Taken), amended+len(want.Amended)
		if !reflect.DeepEqual(want, got) { // cmp is slow, and needed only to show
			t.Fatalf(
				"after %d observations: what it gives -left alone +restored:\n%s",
				at,
				cmp.Diff(want.outline(), got.outline()),
			)
		}
	}
	observe := func(o *observation.Observation) {
		left.Observe(o)
		moved.Observe(o)
	}
	for i, o := range seen {
		cut := i%k == from
		if o.Run == nil && i%31 == from%31 {
			late = append(late, o)
			continue
		}
		observe(o)
		now := o.Seen
		if cut {
			moved = restored(t, moved)
		}
		if i%5 == 0 {
			check(i, now)
		}
		if cut {
			left.Take(now)
			moved.Take(now)
			left.late.added, moved.late.added = nil, nil // a caller asks for late spans before it saves
			moved = restored(t, moved)
			check(i, now)
		}
	}
	end := seen[len(seen)-1].Seen
	for _, d := range []time.Duration{time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 3 * time.Hour} {
		check(len(seen), end.Add(d))
		for i, o := range late {
			observe(o)
			if i == len(late)/2 {
				moved = restored(t, moved)
			}
		}
		late = late[len(late)/2:]
	}
	if taken == 0 {
		t.Error("no trace was taken: nothing is proved")
	}
	t.Logf("%d traces taken, %d amended", taken, amended)
	if diff := cmp.Diff(left, moved, sameKnowledge); diff != "" {
		t.Errorf("the final states differ: -left alone +restored:\n%s", diff)
	}
	if b := saved(t, moved); !bytes.Equal(b, saved(t, restored(t, moved))) {
		t.Error("saved again it is not the same")
	}
}

func recordings(tb testing.TB) map[string][]*observation.Observation {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no recordings: %v", err)
	}
	out := map[string][]*observation.Observation{}
	for _, p := range paths {
		out[filepath.Base(p)] = read(tb, p)
	}
	return out
}

// unsaved are the fields that follow from the others, by the type.
var unsaved = map[string][]string{
	"Engine":     {"opts", "groups", "retention"},
	"Index":      {"shared", "lookups", "otherPods"},
	"Trail":      {"known", "tally", "doubts"},
	"endpoints":  {"known", "pods", "slices", "pending"},
	"amendments": {"trail", "memory", "after", "opts", "added"},
	"aftermaths": {"known", "window", "places", "worse"},
	"memory":     {"fates"},
	"problems":   {"known", "groups", "touched", "off", "below", "moved", "held", "wakes", "spaces", "stirred"},
	"Tracker":    {"cluster", "changed", "contents"},
	"Timeline":   {"Above", "Refers", "Names"},
	"Record":     {"Above", "Refers", "Names"},
	"Audits":     {"Joined"},
}

// sameKnowledge compares the saved parts of engines.
var sameKnowledge = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.FilterPath(func(p cmp.Path) bool {
		of, isField := p.Last().(cmp.StructField)
		return isField && slices.Contains(unsaved[p.Index(-2).Type().Name()], of.Name())
	}, cmp.Ignore()),
	cmpopts.EquateEmpty(),
}

// filled is an engine with a different value in every saved field.
func filled() *Engine {
	e := New(Options{Cluster: "test"})
	f := filler{}
	for _, part := range []any{e.index, e.trail, e.endpoints, e.late, e.memory, e.problems.tracker, e.after, &e.last} {
		f.fill(reflect.ValueOf(part).Elem())
	}
	for uid, t := range maps.Clone(e.index.Objects()) {
		for _, v := range t.Versions {
			v.Ref = &t.Ref
		}
		delete(e.index.Objects(), uid)
		e.index.Restore(t)
		e.index.Complete(t)
	}
	for uid, l := range maps.Clone(e.memory.series) {
		delete(e.memory.series, uid)
		e.memory.series[l.Ref.UID] = l
	}
	return e
}

type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	if !v.CanSet() { // an unexported field
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(epoch.Add(time.Duration(f.n) * time.Millisecond)))
		return
	}
	if v.Type() == reflect.TypeFor[history.Verb]() {
		v.Set(reflect.ValueOf(history.Deleted))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-f.n)
	case reflect.Uint64:
		v.SetUint(uint64(f.n))
	case reflect.Uint8:
		v.SetUint(uint64(f.n % 255))
	case reflect.String:
		v.SetString("text " + time.Duration(f.n).String())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !slices.Contains(unsaved[v.Type().Name()], v.Type().Field(i).Name) {
				f.fill(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	default:
		panic("a field of kind " + v.Kind().String() + " is not supported: extend the test")
	}
}

// TestSaveKnowsEveryField fails if Save leaves out a new field of the engine's state.
func TestSaveKnowsEveryField(t *testing.T) {
	want := filled()
	got := restored(t, want)
	if diff := cmp.Diff(want, got, sameKnowledge); diff != "" {
		t.Errorf(
			"the restored engine differs: a new field outside of state is saved if state gets it, or belongs "+
				"in the list of unsaved fields: -want +got:\n%s",
			diff,
		)
	}
	if !bytes.Equal(saved(t, want), saved(t, got)) {
		t.Error("the restored engine is saved differently")
	}
}

// payload returns the content of the blocks of a saved state.
func payload(tb testing.TB, state []byte) []byte {
	tb.Helper()
	in := bytes.NewReader(state)
	if _, err := in.Seek(int64(len("lifeline engine\n")+1), io.SeekStart); err != nil {
		tb.Fatal(err)
	}
	var out []byte
	r := snapshot.NewBlockReader(in)
	for !r.End() {
		out = append(out, r.Next(1<<20)...)
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return out
}

// inBlocks returns a state of that format version with the given content in its blocks.
func inBlocks(version byte, content []byte) []byte {
	out := append([]byte("lifeline engine\n"), version)
	for len(content) > 0 {
		block := content[:min(len(content), 1<<16)]
		content = content[len(block):]
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = binary.BigEndian.AppendUint32(out, crc32.Checksum(block, crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, block...)
	}
	return append(out, make([]byte, 8)...)
}

// TestRestoreRefuses: Restore refuses an incomplete state with ErrFormat, and returns an error of its
// reader as it is.
func TestRestoreRefuses(t *testing.T) {
	good := saved(t, observe(read(t, "testdata/create.real.jsonl.gz")))
	broken := errors.New("disk on fire")
	flip := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 0x10
		return b
	}
	changed := func(damage func(s *state)) io.Reader {
		s := restored(t, observe(read(t, "testdata/create.real.jsonl.gz"))).state()
		s.Objects = slices.DeleteFunc(s.Objects, func(t *change.Timeline) bool { return len(t.Versions) == 0 })
		damage(s)
		var b bytes.Buffer
		if err := format().Save(&b, epoch, s); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	cases := map[string]struct {
		reason string
		in     io.Reader
		opts   Options
		want   error
	}{
		"Empty": {"nothing is no engine", bytes.NewReader(nil), Options{Cluster: "test"}, ErrFormat},
		"OtherFile": {
			"something else is none",
			bytes.NewReader(bytes.Repeat([]byte("{}"), 99)),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"OtherVersion": {
			"an unknown format is an error",
			bytes.NewReader(flip(len("lifeline engine\n"))),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"OtherCluster": {
			"IDs of traces are a cluster's own",
			bytes.NewReader(good),
			Options{Cluster: "other"},
			ErrFormat,
		},
		"Truncated": {
			"the end is missing",
			bytes.NewReader(good[:len(good)-1]),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"HalfBlock": {"half is missing", bytes.NewReader(good[:len(good)/2]), Options{Cluster: "test"}, ErrFormat},
		"Flipped":   {"a bit is wrong", bytes.NewReader(flip(len(good) / 2)), Options{Cluster: "test"}, ErrFormat},
		"NoValue": {
			"a state without its value is not an engine without objects",
			bytes.NewReader(inBlocks(snapshot.Version, nil)),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"Trailing": {
			"more data follows the value",
			bytes.NewReader(inBlocks(snapshot.Version, append(payload(t, good), "more"...))),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"TwoValues": {
			"another state follows",
			bytes.NewReader(inBlocks(snapshot.Version, slices.Concat(payload(t, good), payload(t, good)))),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"NoStatus": {
			"a version has no status",
			changed(func(s *state) { s.Objects[0].Versions[0].Status = nil }),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"NoVersion": {
			"a folded object has no version",
			changed(func(s *state) { s.Objects[0].Folded, s.Objects[0].Versions = true, nil }),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"TwoObjects": {
			"two objects have one intent",
			changed(func(s *state) { s.Objects[0].Versions = s.Objects[1].Versions }),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"NoRequest": {
			"a list of requests is empty",
			changed(func(s *state) { s.Objects[0].Audits = &change.Audits{HandedOut: []uint64{1}} }),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"Trail": {
			"a waiting request is not there",
			changed(func(s *state) {
				tr := trail.New(index.New().View())
				w := &observation.Write{AuditID: "a", Start: epoch, End: epoch, Code: 409}
				tr.Refuse(index.Identify(w), w)
				tr.RefusalsOf(index.Identify(w)).Kinds[0].Writes = nil
				s.Trail = &tr.State
			}),
			Options{Cluster: "test"},
			ErrFormat,
		},
		"Unreadable": {
			"a reader's error is returned unchanged",
			io.MultiReader(bytes.NewReader(good[:99]), failing{broken}),
			Options{Cluster: "test"},
			broken,
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := Restore(tt.opts, tt.in)
			if e != nil || !errors.Is(err, tt.want) ||
				errors.Is(err, ErrFormat) != (tt.want == ErrFormat) { //nolint:errorlint // a sentinel of the table
				t.Errorf("%s: Restore gave %v, %v, want error %q", tt.reason, e, err, tt.want)
			}
		})
	}
	rest := bytes.NewReader(append(bytes.Clone(good), "more"...))
	if _, err := Restore(Options{Cluster: "test"}, rest); err != nil || rest.Len() != 4 {
		t.Errorf("Restore left %d bytes of what follows, and gave %v; want all 4", rest.Len(), err)
	}
	if err := New(Options{}).Save(failing{broken}); !errors.Is(err, broken) {
		t.Errorf("Save gave %v, want the writer's error", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// FuzzRestore gives Restore blocks with valid checksums and any content. Restore must not panic,
// its memory must be in proportion to the input, and a restored engine must work.
func FuzzRestore(f *testing.F) {
	s := newStory()
	s.rollout()
	e := observe(s.seen)
	f.Add(byte(snapshot.Version), payload(f, saved(f, e)))
	e.Take(s.now().Add(time.Minute))
	f.Add(byte(snapshot.Version), payload(f, saved(f, e)))
	f.Add(byte(snapshot.Version), payload(f, saved(f, filled())))
	f.Add(byte(snapshot.Version), []byte{0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, version byte, data []byte) {
		in := inBlocks(version, data)
		for _, cluster := range []string{"", "test"} {
			e, err := Restore(Options{Cluster: cluster}, bytes.NewReader(in))
			if err != nil {
				if !errors.Is(err, ErrFormat) {
					t.Errorf("error %v is not ErrFormat", err)
				}
				continue
			}
			for _, o := range s.seen {
				e.Observe(o)
			}
			ask(e, s.now())
			ask(e, s.now().Add(2*time.Hour))
			restored(t, e)
		}
		// Without checksums, Restore rejects any bytes.
		if _, err := Restore(Options{}, bytes.NewReader(data)); !errors.Is(err, ErrFormat) {
			t.Errorf("bytes without checksums gave %v", err)
		}
	})
}

// TestRestoreEmpty restores a state whose values are all empty.
func TestRestoreEmpty(t *testing.T) {
	w := &observation.Write{}
	var b bytes.Buffer
	err := format().Save(&b, epoch, &state{
		Objects: []*change.Timeline{{Record: history.Record{
			Removal: &history.Removal{},
			Events:  []*history.Event{{Notice: &history.Notice{}, Related: &history.Related{}}},
			Extra:   &history.RecordExtra{Requests: []*observation.Write{w}},
			Versions: []*history.Version{{
				Intent: &history.Intent{
					Leave: &history.Leave{}, Origin: &history.Origin{}, IntentExtra: &history.IntentExtra{},
					Fields: &history.Fields{},
				},
				Status: &history.Status{
					Verdict: &history.Verdict{}, StatusExtra: &history.StatusExtra{},
					Workload: &observation.Workload{},
				},
			}},
		}, Past: &change.Past{Before: &change.Before{}}, Recent: &change.Recent{}}},
		Runs:      map[trace.TraceID]*observation.Run{{}: {}},
		Refused:   map[string]*observation.Write{"": w},
		Nodes:     map[string]*observation.Node{"": {}},
		Taken:     map[trace.TraceID]change.Taken{{}: {}},
		Late:      []amendment{{}},
		Series:    map[types.UID]*change.SeriesList{"": {All: []change.Series{{}}}},
		Contests:  map[types.UID]*change.Contests{"": {Fields: []change.Contest{{Claims: []change.Claim{{}}}}}},
		Endpoints: map[observation.EndpointKey]*endpoint{0: {of: []change.Publication{{}}, handedOut: &handedOutPod{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Restore(Options{}, &b)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory()
	s.rollout()
	for _, o := range s.seen {
		e.Observe(o)
	}
	ask(e, s.now().Add(2*time.Hour))
	restored(t, e)
}

// TestRestoreLengths: a damaged length needs no more memory than the bytes that are there.
func TestRestoreLengths(t *testing.T) {
	good := payload(t, saved(t, filled()))
	schema, size := binary.Uvarint(good)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cuts := uint64(0)
	for cut := size + int(schema); cut <= len(good); cut += 17 { // about each value of a filled engine
		cuts++
		in := inBlocks(snapshot.Version, binary.AppendUvarint(bytes.Clone(good[:cut]), 1<<40))
		if _, err := Restore(Options{}, bytes.NewReader(in)); !errors.Is(err, ErrFormat) {
			t.Errorf("after %d bytes: Restore gave %v, want ErrFormat", cut, err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / cuts; each > 1<<20 {
		t.Errorf("Restore took %d bytes of memory on average for inputs of up to %d", each, len(good))
	}
}

// TestRestoreMemory bounds the memory of a restored engine: it must share values like the saved
// one.
func TestRestoreMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large recording")
	}
	readThousand(t)
	e, end := New(Options{Cluster: "bench"}), time.Time{}
	for _, o := range readThousand(t) {
		e.Observe(o)
		end = o.Seen
	}
	compare := func(when string) {
		b := saved(t, e)
		before := heapSize()
		again, err := Restore(e.opts, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		size := float64(heapSize()-before) / float64(len(e.index.Objects()))
		e, again = again, nil // what is left is the restored one
		_ = again
		t.Logf("%s: %d bytes saved; %.0f bytes per object restored", when, len(b), size)
		if limit := map[string]float64{"open": 4096, "arrived": 1024}[when]; size > limit {
			t.Errorf("%s: a restored object takes %.0f bytes, want at most %.0f", when, size, limit)
		}
	}
	compare("open")
	e.Take(end.Add(time.Minute))
	compare("arrived")
}

// arrivedPods returns an engine with 5,000 converged Pods.
func arrivedPods(tb testing.TB) *Engine {
	tb.Helper()
	e, end := New(Options{Cluster: "bench"}), time.Time{}
	for n := range 5 {
		for _, o := range readThousand(tb) {
			e.Observe(copied(o, n))
			end = o.Seen
		}
	}
	if len(e.Take(end.Add(time.Minute))) == 0 {
		tb.Fatal("no trace was taken")
	}
	return e
}

// copied is o of another set of objects.
func copied(o *observation.Observation, n int) *observation.Observation {
	set := string(rune('a' + n))
	switch {
	case o.State != nil:
		o.State.UID += types.UID(set)
		for i := range o.State.Owners {
			o.State.Owners[i].UID += types.UID(set)
		}
	case o.Event != nil:
		o.Event.Regarding.UID += types.UID(set)
	case o.Gone != nil:
		o.Gone.UID += types.UID(set)
	}
	return o
}

func BenchmarkSave(b *testing.B) {
	e := arrivedPods(b)
	size := len(saved(b, e))
	for b.Loop() {
		if err := e.Save(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	b.ReportMetric(float64(len(e.index.Objects())), "objects")
}

func BenchmarkRestore(b *testing.B) {
	e := arrivedPods(b)
	in := saved(b, e)
	for b.Loop() {
		if _, err := Restore(e.opts, bytes.NewReader(in)); err != nil {
			b.Fatal(err)
		}
	}
}
