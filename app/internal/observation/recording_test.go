// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC)

func sample() []*Observation {
	pod := object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default", Name: "web-x7", UID: "u1"}
	return []*Observation{
		{
			Seen: start, Source: SourceRun, Run: &Run{
				TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Command: "kubectl apply",
				Start: start,
			},
		},
		{Seen: start, Source: SourceWatch, Listed: true, Baseline: true, State: &State{
			Ref: pod, ResourceVersion: 1 << 62, Desired: 1<<64 - 1, Created: start, ObservedGeneration: -1,
			Progress: ProgressInProgress,
			Owners: []object.Owner{
				{
					Kind: object.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, Name: "web", UID: "u0",
					Controller: true,
				},
			},
			Managers: []Manager{{Name: "kubelet", Operation: "Update", Subresource: "status", Time: start, Fields: 7}},
			Pod: &Pod{
				Node: "n", Containers: []Container{
					{Name: "app", Image: "app:1", State: &ContainerState{Waiting: true, Reason: "ImagePullBackOff"}},
				},
			},
		}},
		{
			Seen: start, Source: SourceRequest, Write: &Write{
				Ref: pod, Resource: "pods", Verb: "delete", Start: start, End: start, Code: 200,
			},
		},
		{
			Seen: start, Source: SourceWatch, Event: &Event{
				UID: "e", ResourceVersion: 9, Regarding: pod, Reason: "Pulled", Note: "Stopping container app",
				Time: start,
			},
		},
		{Seen: start, Source: SourceWatch, Gone: &Gone{Ref: pod, ResourceVersion: 12}},
	}
}

func readAll(t *testing.T, r *Reader) []*Observation {
	t.Helper()
	var all []*Observation
	for {
		o, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

func TestRecordingRoundTrip(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			file, err := Create(path, Header{Cluster: "c1", Started: start})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range sample() {
				if err := file.Write(o); err != nil {
					t.Fatal(err)
				}
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			in, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if diff := cmp.Diff(Header{Version: 1, Cluster: "c1", Started: start}, in.Header()); diff != "" {
				t.Errorf("header: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(sample(), readAll(t, in.Reader)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTruncatedGzipNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	file, err := Create(path, Header{Cluster: "c1", Started: start})
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if err := file.Write(sample()[4]); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for err == nil {
		_, err = in.Next()
	}
	if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), ", line ") ||
		!strings.Contains(err.Error(), "truncated") {
		t.Errorf("want an error that names the truncated line, got %v", err)
	}
}

func TestBadRecordings(t *testing.T) {
	const header = `{"lifelineRecording":1,"cluster":"c","started":"2026-05-04T03:02:01Z"}` + "\n"
	const gone = `{"seen":"2026-05-04T03:02:01Z","source":"watch",` +
		`"gone":{"kind":"Pod","name":"a","resourceVersion":3}}` + "\n"
	cases := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"Empty": {
			reason: "an empty file has no header",
			text:   "", want: "cannot read recording f: the file is empty",
		},
		"OtherFile": {
			reason: "some other JSONL file is no recording",
			text: `{"kind":"Event"}` +
				"\n", want: "cannot read recording f, line 1: not the header of a Lifeline recording",
		},
		"NewerVersion": {
			reason: "a format that is not known is not guessed at",
			text:   `{"lifelineRecording":2}` + "\n",
			want:   "cannot read recording f: its format is version 2, known is 1",
		},
		"Damaged": {
			reason: "a damaged line is named",
			text:   header + gone + "{\"seen\":\n" + gone,
			want:   "cannot read recording f, line 3: damaged: unexpected end of JSON input",
		},
		"Truncated": {
			reason: "the last line of a recorder that died is named",
			text:   header + gone + gone[:40], want: "cannot read recording f, line 3: truncated",
		},
		"TruncatedAtTheBrace": {
			reason: "a line without its end may be a prefix that happens to parse",
			text:   header + strings.TrimSuffix(gone, "\n"), want: "cannot read recording f, line 2: truncated",
		},
		"SaysNothing": {
			reason: "an observation says exactly one thing",
			text:   header + `{"seen":"2026-05-04T03:02:01Z","source":"watch"}` + "\n",
			want:   "cannot read recording f, line 2: an observation says one thing, this one 0",
		},
		"TooLong": {
			reason: "a line is bounded, so that a bad file does not fill memory",
			text:   header + strings.Repeat("x", maxLine+1),
			want:   "cannot read recording f, line 2: longer than 4194304 bytes",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader(tc.text), "f")
			for err == nil {
				_, err = r.Next()
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWriterRefusesWhatReaderWould(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&Observation{}); err == nil {
		t.Error("an observation that says nothing was recorded")
	}
}

// FuzzReader checks that every readable observation can be recorded and read again unchanged, and
// that nothing panics.
func FuzzReader(f *testing.F) {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, Header{Cluster: "c1", Started: start})
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range sample() {
		if err := w.Write(o); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		var first []*Observation
		for {
			o, err := r.Next()
			if err != nil {
				break
			}
			first = append(first, o)
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, r.Header())
		if err != nil {
			return // a year that time.Time cannot encode
		}
		for _, o := range first {
			if err := w.Write(o); err != nil {
				return
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		again, err := NewReader(bytes.NewReader(out.Bytes()), "f")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, readAll(t, again), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
