// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Names of the state that a recorder keeps in its store.
const (
	// engineState is a saved engine. inputState prefixes the observations since then, and
	// watchState the positions of the watches.
	engineState = "engine"
	inputState  = "journal/"
	watchState  = "watch/"
)

// maxChunk bounds one unpacked chunk of the journal.
const maxChunk = 1 << 30

// chunk is the input of one look: the observations since the previous look, and the look's time.
type chunk struct {
	At time.Time
	// Waited marks a look that took nothing from the engine.
	Waited       bool
	Observations []*observation.Observation
}

// chunkHeader is the first line of a chunk.
type chunkHeader struct {
	At     time.Time `json:"at"`
	Waited bool      `json:"waited,omitempty"`
	Count  int       `json:"count"`
}

// inputName is the name of the n-th chunk; names sort in the order of numbers.
func inputName(n uint64) string { return fmt.Sprintf("%s%020d", inputState, n) }

// inputNumber is the reverse of inputName.
func inputNumber(name string) (uint64, error) {
	var n uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, inputState), "%d", &n); err != nil {
		return 0, fmt.Errorf("cannot read the name of journal chunk %q: %w", name, err)
	}
	return n, nil
}

// newPacker returns a compressor for chunks. It takes 800 kB, so a recorder uses one again and again.
func newPacker() *gzip.Writer {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		return gzip.NewWriter(nil) // the level is valid
	}
	return w
}

// encode packs c: a header and one observation a line, compressed.
//
// An observation that cannot be encoded is left out with a warning. The next start lacks it, but
// the other observations are not delayed.
func (c *chunk) encode(packed *gzip.Writer, warn func(string, ...any)) ([]byte, error) {
	data, bad, err := c.encodeBut(nil, packed, warn)
	if len(bad) > 0 && err == nil { // the header has their number
		data, _, err = c.encodeBut(bad, packed, warn)
	}
	return data, err
}

// encodeBut packs c without some observations, by their places. It returns the places of further
// ones that cannot be encoded. Its memory is that of one observation and of the result.
func (c *chunk) encodeBut(
	without map[int]bool,
	packed *gzip.Writer,
	warn func(string, ...any),
) ([]byte, map[int]bool, error) {
	var out bytes.Buffer
	packed.Reset(&out)
	enc := json.NewEncoder(packed)
	h := chunkHeader{At: c.At, Waited: c.Waited, Count: len(c.Observations) - len(without)}
	if err := enc.Encode(h); err != nil {
		return nil, nil, fmt.Errorf("cannot encode the journal: %w", err)
	}
	var bad map[int]bool
	for i, o := range c.Observations {
		if without[i] {
			continue
		}
		if err := enc.Encode(o); err != nil { // out is in memory: the observation is at fault
			warn("cannot write an observation to the journal; it is left out", errAttr(err))
			if bad == nil {
				bad = map[int]bool{}
			}
			bad[i] = true
		}
	}
	if err := packed.Close(); err != nil {
		return nil, nil, fmt.Errorf("cannot compress the journal: %w", err)
	}
	return out.Bytes(), bad, nil
}

// decodeChunk is the reverse of encode.
func decodeChunk(data []byte) (*chunk, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the journal: %w", err)
	}
	dec := json.NewDecoder(bufio.NewReader(io.LimitReader(unpacked, maxChunk)))
	var h chunkHeader
	if err := dec.Decode(&h); err != nil {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	c := &chunk{At: h.At, Waited: h.Waited}
	for {
		o := new(observation.Observation)
		err := dec.Decode(o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the journal: %w", err)
		}
		o.Clean()
		c.Observations = append(c.Observations, o)
	}
	if len(c.Observations) != h.Count {
		return nil, fmt.Errorf(
			"cannot read the journal: a chunk of %d observations has %d",
			h.Count,
			len(c.Observations),
		)
	}
	return c, nil
}
