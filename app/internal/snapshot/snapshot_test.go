// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// epoch is the base of the times in the tests.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// timelines returns n timelines of Pods that share all that Pods can share.
func timelines(n int) []*change.Timeline {
	var (
		leave    = &history.Leave{}
		origin   = &history.Origin{GenerateName: "web-"}
		owners   = []object.Owner{{Kind: object.Kind{Kind: "ReplicaSet"}, Name: "web", UID: "owner", Controller: true}}
		managers = []*observation.Manager{{Name: "kubelet", Time: epoch}, {Name: "kubectl"}}
		running  = &observation.ContainerState{Started: epoch}
		status   = &history.Status{
			Verdict:            &history.Verdict{Progress: observation.ProgressCurrent},
			StatusExtra:        &history.StatusExtra{},
			ObservedGeneration: -1,
			Conditions:         []*observation.Condition{{Type: "Ready", Status: "True", Since: epoch}},
			Pod: &history.PodState{
				PodSpec:    &history.PodSpec{Node: "node-1", ReadinessGates: []string{"a", "b"}},
				PodPhase:   &history.PodPhase{Phase: "Running"},
				PodExtra:   &history.PodExtra{},
				Containers: []*observation.Container{{Name: "app", State: running, Last: running}},
			},
		}
		audit = &observation.Write{AuditID: "audit", Code: 201, Start: epoch}
		out   []*change.Timeline
	)
	for i := range n {
		t := &change.Timeline{Record: history.Record{
			Ref: object.Ref{
				Kind:      object.Kind{Version: "v1", Kind: "Pod"},
				Namespace: "default",
				UID:       types.UID(fmt.Sprintf("uid-%d", i)),
			},
			Events: []*history.Event{{Notice: &history.Notice{Reason: "Started"}, Seen: epoch}},
		}}
		intent := &history.Intent{
			Ref:     &t.Ref,
			Leave:   leave,
			Origin:  origin,
			Created: epoch,
			Owners:  owners,
			IntentExtra: &history.IntentExtra{
				Finalizers: []string{"f"}, Labels: []object.Label{{Key: "app", Value: "web"}, {Key: "tier"}},
			},
			Fields: &history.Fields{
				Leaves: []observation.Leaf{{Path: "spec", Value: math.MaxUint64, Managers: 1, Shown: "2"}},
			},
		}
		for rv := range uint64(3) {
			t.Versions = append(t.Versions, &history.Version{
				Intent:          intent,
				Status:          status,
				ResourceVersion: rv,
				Managers:        managers,
				Seen:            epoch.Add(time.Duration(rv)),
			})
		}
		t.Audits = &change.Audits{List: []*observation.Write{audit}}
		t.Past = &change.Past{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Before: &change.Before{
			Recs: []change.Earlier{{TraceID: trace.TraceID{1}, Activity: epoch}},
		}}
		out = append(out, t)
	}
	return out
}

// write returns a state with these timelines.
func write(tb testing.TB, all []*change.Timeline) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, epoch)
	w.Header(&statepb.Header{})
	for _, t := range all {
		w.Part.Timelines = append(w.Part.Timelines, w.Timeline(t))
		w.Next()
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// read returns the timelines of a state, and the number of its Parts.
func read(state []byte) ([]*change.Timeline, int, error) {
	in := bytes.NewReader(state)
	if v, err := ReadVersion(in); err != nil || v != Version {
		return nil, 0, fmt.Errorf("version %d: %w", v, err)
	}
	var out []*change.Timeline
	r, n := NewReader(in), 0
	for p := r.Next(); p != nil; p = r.Next() {
		n++
		for _, t := range p.Timelines {
			out = append(out, r.Timeline(t))
		}
	}
	return out, n, r.Err()
}

func TestTimelines(t *testing.T) {
	want := timelines(500)
	state := write(t, want)
	got, n, err := read(state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the timelines differ: -want +got:\n%s", diff)
	}
	if n < 10 {
		t.Errorf("the state has %d parts, want many: a part must stay small", n)
	}
	if !bytes.Equal(state, write(t, got)) {
		t.Error("the restored timelines are saved differently")
	}
	if t.Failed() {
		return
	}
	first, last := got[0], got[len(got)-1]
	for name, same := range map[string]bool{
		"intent in one timeline": first.Versions[0].Intent == first.Versions[2].Intent,
		"reference":              first.Versions[0].Ref == &first.Ref,
		"status":                 first.Versions[0].Status == last.Versions[2].Status,
		"managers":               &first.Versions[0].Managers[0] == &last.Versions[2].Managers[0],
		"owners":                 &first.Versions[0].Owners[0] == &last.Versions[2].Owners[0],
		"origin":                 first.Versions[0].Origin == last.Versions[2].Origin,
		"leave":                  first.Versions[0].Leave == last.Versions[2].Leave,
		"states of a container":  first.Versions[0].Pod.Containers[0].State == first.Versions[0].Pod.Containers[0].Last,
		"audit":                  first.Audits.List[0] == last.Audits.List[0],
	} {
		if !same {
			t.Errorf("%s: shared before, but not after", name)
		}
	}
}

// TestKnownValues: the memory of a Writer does not grow with the cluster, and the objects stay equal.
func TestKnownValues(t *testing.T) {
	want := timelines(3 * maxKnown)
	for _, one := range want {
		for _, v := range one.Versions { // of this object alone
			status := *v.Status
			status.Conditions = []*observation.Condition{{Type: "Ready", Message: string(one.Ref.UID)}}
			v.Status = &status
		}
	}
	var out bytes.Buffer
	w, most := NewWriter(&out, epoch), 0
	w.Header(&statepb.Header{})
	for _, one := range want {
		w.Part.Timelines = append(w.Part.Timelines, w.Timeline(one))
		w.Next()
		most = max(most, len(w.texts.numbers), len(w.conditions.numbers), len(w.statuses.numbers))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if bound := maxKnown + partValues; most > bound {
		t.Errorf("a table knows %d values, want %d at most", most, bound)
	}
	got, _, err := read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[len(want)-100:], got[len(got)-100:]); diff != "" {
		t.Errorf("the last timelines differ: -want +got:\n%s", diff)
	}
	if !bytes.Equal(out.Bytes(), write(t, got)) {
		t.Error("the restored timelines are saved differently")
	}
	one := got[len(got)-1]
	if one.Versions[0].Managers[0] != got[len(got)-2].Versions[2].Managers[0] {
		t.Error("neighbours do not share their managers")
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
	for _, base := range []time.Time{{}, epoch, time.Unix(math.MaxInt64, 0)} {
		for name, tt := range cases {
			w := NewWriter(&bytes.Buffer{}, base)
			r := &Reader{epoch: w.epoch}
			got := r.Time(w.Time(tt.time))
			if got != tt.want || r.Err() != nil {
				t.Errorf("%s, base %s: %s: got %v and error %v, want %v", name, base, tt.reason, got, r.Err(), tt.want)
			}
		}
	}
}

// TestTexts saves texts of any bytes: a user agent need not be UTF-8.
func TestTexts(t *testing.T) {
	in := timelines(1)
	in[0].SetRequests([]*observation.Write{{UserAgent: "curl/\xff\x00", Message: "é"}})
	got, _, err := read(write(t, in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReaderRefuses: a damaged Part gives an error of the format, and no panic.
func TestReaderRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		parts  []string // in the text format of protobuf
	}{
		"NoPart":     {"the header is missing", nil},
		"NoHeader":   {"the header is missing", []string{""}},
		"LateHeader": {"the first part has the header", []string{"", `header {}`}},
		"TwoHeaders": {"only the first part has a header", []string{`header {}`, `header {}`}},
		"Text":       {"no such text", []string{`header {} kinds { kind: 1 }`}},
		"LaterText":  {"a text of a later part", []string{`header {} kinds { kind: 1 }`, `texts: "a"`}},
		"NextText":   {"no such text", []string{`header {} texts: "a" kinds { kind: 2 }`}},
		"LastNumber": {
			"no such text",
			[]string{`header {} texts: "a" kinds { kind: 18446744073709551615 }`},
		},
		"Kind": {"no such kind", []string{`header {} timelines { ref { kind: 1 } }`}},
		"NoIntent": {
			"a version has an intent",
			[]string{`header {} verdicts {} statuses { verdict: 1 } timelines { versions { status: 1 } }`},
		},
		"Intent": {
			"an intent of another timeline",
			[]string{
				`header {} verdicts {} statuses { verdict: 1 } leaves {} origins {}`,
				`timelines { intents { leave: 1 origin: 1 } }`,
				`timelines { versions { intent: 1 status: 1 } }`,
			},
		},
		"NoStatus": {
			"a version has a status",
			[]string{
				`header {} leaves {} origins {}`,
				`timelines { intents { leave: 1 origin: 1 } versions { intent: 1 } }`,
			},
		},
		"NoLeave": {
			"an intent has a leave",
			[]string{`header {} origins {} timelines { intents { origin: 1 } }`},
		},
		"NoOrigin": {
			"an intent has an origin",
			[]string{`header {} leaves {} timelines { intents { leave: 1 } }`},
		},
		"NoVerdict": {"a status has a verdict", []string{`header {} statuses {}`}},
		"NoSpec":    {"a Pod has a spec", []string{`header {} pod_phases {} pods { phase: 1 }`}},
		"NoPhase":   {"a Pod has a phase", []string{`header {} pod_specs {} pods { spec: 1 }`}},
		"NoNotice":  {"an Event has a notice", []string{`header {} timelines { events {} }`}},
		"NoManager": {"a list has no gaps", []string{`header {} manager_lists { values: 0 }`}},
		"Condition": {"no such condition", []string{`header {} condition_lists { values: 1 }`}},
		"State":     {"no such state of a container", []string{`header {} containers { state: 1 }`}},
		"Audit":     {"no such request", []string{`header {} timelines { audits: 1 }`}},
		"Fields":    {"the columns differ in length", []string{`header {} fields { paths: 0 values: 0 }`}},
		"Folded":    {"a folded timeline has a version", []string{`header {} timelines { folded: true }`}},
		"Nanoseconds": {
			"a second has only so many",
			[]string{`header {} leaves { deleting { nanos: 1000000000 } }`},
		},
		"TraceID": {
			"a trace ID has 16 bytes",
			[]string{`header {} texts: "fifteen bytes: " timelines { past { trace_id: 1 } }`},
		},
		"LongTraceID": {
			"a trace ID has 16 bytes",
			[]string{`header {} texts: "seventeen bytes: " timelines { past { trace_id: 1 } }`},
		},
		"EarlierTrace": {
			"no such text",
			[]string{`header {} timelines { past { before { trace_id: 1 } } }`},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			var content []byte
			for _, text := range tt.parts {
				var p statepb.Part
				if err := prototext.Unmarshal([]byte(text), &p); err != nil {
					t.Fatal(err)
				}
				b, err := proto.Marshal(&p)
				if err != nil {
					t.Fatal(err)
				}
				content = append(binary.AppendUvarint(content, uint64(len(b))), b...)
			}
			state := append(append([]byte(magic), Version), blocks(t, content)...)
			if _, _, err := read(state); !errors.Is(err, ErrFormat) {
				t.Errorf("%s: got error %v, want ErrFormat", tt.reason, err)
			}
		})
	}
}

// TestReaderDamaged reads a state that ends early or has damaged bytes inside whole blocks.
func TestReaderDamaged(t *testing.T) {
	state := write(t, timelines(2))
	content, err := unblock(NewBlockReader(bytes.NewReader(state[len(magic)+1:])))
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte(magic), Version)
	for i := range content {
		if _, _, err := read(append(bytes.Clone(head), blocks(t, content[:i])...)); !errors.Is(err, ErrFormat) {
			t.Errorf("%d of %d bytes gave %v, want ErrFormat", i, len(content), err)
		}
		for bit := range 8 {
			bad := bytes.Clone(content)
			bad[i] ^= 1 << bit
			if _, _, err := read(append(bytes.Clone(head), blocks(t, bad)...)); err != nil &&
				!errors.Is(err, ErrFormat) {
				t.Errorf("byte %d, bit %d: gave %v, want ErrFormat or a state", i, bit, err)
			}
		}
	}
}

func TestReadVersion(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		want       byte
		err        error
	}{
		"this":  {"the version follows the magic", magic + "\x01…", 1, nil},
		"other": {"any version is returned", magic + "\xff", 255, nil},
		"empty": {"nothing is no state", "", 0, ErrFormat},
		"short": {"the version is missing", magic, 0, ErrFormat},
		"magic": {"something else is no state", "lifeline motor \n\x0c", 0, ErrFormat},
	}
	for name, tt := range cases {
		got, err := ReadVersion(bytes.NewReader([]byte(tt.in)))
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %s: got %d and error %v, want %d and %v", name, tt.reason, got, err, tt.want, tt.err)
		}
	}
}

// TestWriterFails returns the first error of the output.
func TestWriterFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, after := range []int{0, 1, 2, 3} {
		w := NewWriter(&failing{after, broken}, epoch)
		w.Header(&statepb.Header{})
		for _, one := range timelines(2000) {
			w.Part.Timelines = append(w.Part.Timelines, w.Timeline(one))
			w.Next()
		}
		if err := w.Close(); !errors.Is(err, broken) {
			t.Errorf("Close after %d good writes gave %v, want %v", after, err, broken)
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
