// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

func TestChunkComesBack(t *testing.T) {
	for name, waited := range map[string]bool{"Taken": false, "Waited": true} {
		t.Run(name, func(t *testing.T) {
			want := &chunk{
				At: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC), Waited: waited,
				Observations: read(t, "../lifecycle/testdata/create.real.jsonl.gz"),
			}
			data, err := want.encode(quietly)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeChunk(data)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestChunkWithoutAnObservation leaves out what cannot be encoded, and has the rest.
func TestChunkWithoutAnObservation(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/create.real.jsonl.gz")[:5]
	bad := *seen[2]
	bad.Seen = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // no year in JSON
	warnings := 0
	data, err := (&chunk{Observations: append(slices.Clone(seen), &bad, &bad)}).encode(
		func(string, ...any) { warnings++ },
	)
	if err != nil || warnings != 2 {
		t.Fatalf("error %v and %d warnings, want 2", err, warnings)
	}
	got, err := decodeChunk(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(seen, got.Observations); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestOldChunkIsCleaned: a journal of an older version holds whole messages.
func TestOldChunkIsCleaned(t *testing.T) {
	note := &observation.Event{UID: "e", ResourceVersion: 9, Note: "the password is cNrYhunter2"}
	noted := &observation.Observation{Source: observation.SourceWatch, Event: note}
	data, err := (&chunk{Observations: []*observation.Observation{noted}}).encode(
		quietly,
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeChunk(data)
	if err != nil {
		t.Fatal(err)
	}
	if note := got.Observations[0].Event.Note; note != message.Withheld {
		t.Errorf("it is still there: %s", note)
	}
}

func TestDamagedChunk(t *testing.T) {
	data, err := (&chunk{Observations: read(t, "../lifecycle/testdata/create.real.jsonl.gz")}).encode(quietly)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"Empty":   nil,
		"Cut":     data[:len(data)/2],
		"Garbage": []byte("no journal"),
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := decodeChunk(damaged); err == nil {
				t.Errorf("a damaged chunk reads as %v", c)
			}
		})
	}
}

func FuzzDecodeChunk(f *testing.F) {
	data, err := (&chunk{At: time.Unix(1, 2)}).encode(quietly)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = decodeChunk(data) // an error, or a chunk
	})
}
