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
	"sync"
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

// packers are reused, since a new one takes 800 kB.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// encode packs c: a header and one observation a line, compressed.
//
// An observation that cannot be encoded is left out with a warning. The next start lacks it, but
// the other observations are not delayed.
func (c *chunk) encode(warn func(string, ...any)) ([]byte, error) {
	var out bytes.Buffer
	packed := packers.Get().(*gzip.Writer)
	defer packers.Put(packed)
	packed.Reset(&out)
	lines := make([][]byte, 0, len(c.Observations))
	for _, o := range c.Observations {
		line, err := json.Marshal(o)
		if err != nil {
			warn("cannot write an observation to the journal; it is left out", errAttr(err))
			continue
		}
		lines = append(lines, append(line, '\n'))
	}
	enc := json.NewEncoder(packed)
	if err := enc.Encode(chunkHeader{At: c.At, Waited: c.Waited, Count: len(lines)}); err != nil {
		return nil, fmt.Errorf("cannot encode the journal: %w", err)
	}
	for _, line := range lines {
		if _, err := packed.Write(line); err != nil {
			return nil, fmt.Errorf("cannot compress the journal: %w", err)
		}
	}
	if err := packed.Close(); err != nil {
		return nil, fmt.Errorf("cannot compress the journal: %w", err)
	}
	return out.Bytes(), nil
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
