// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// SchemaOfSteps creates the table of the steps of lifecycles. The functions stepBegan and stepEnded read
// its column steps.
const SchemaOfSteps = `
CREATE TABLE phases (
  lifecycle INTEGER PRIMARY KEY,
  steps     BLOB NOT NULL -- see EncodeSteps
) STRICT;
`

// stepCodes are the stored numbers of phases.
var stepCodes = func() map[string]byte {
	out := map[string]byte{}
	for _, p := range span.Phases() {
		out[p.Name] = p.Number
	}
	return out
}()

// interval is a phase of a lifecycle, from its first start to its last end, in nanoseconds.
type interval struct {
	began, ended int64
	open         bool
}

// EncodeSteps returns the start and the end of each phase for the table phases; nil without steps. It has
// the first start of all, and for each phase its number, the distance to its start, and that from there
// to its end. nanos gives the stored form of a time.
func EncodeSteps(steps []question.Step, nanos func(time.Time) int64) []byte {
	if len(steps) == 0 {
		return nil
	}
	var codes []byte
	found := map[byte]interval{}
	first := nanos(steps[0].Start)
	for _, s := range steps {
		code := stepCodes[s.Phase]
		one := interval{nanos(s.Start), nanos(s.End), s.End.IsZero()}
		first = min(first, one.began)
		if i, there := found[code]; there {
			one = interval{min(i.began, one.began), max(i.ended, one.ended), i.open || one.open}
		} else {
			codes = append(codes, code)
		}
		found[code] = one
	}
	out := binary.AppendVarint(make([]byte, 0, 16*(1+len(codes))), first)
	for _, code := range codes {
		i := found[code]
		if i.open {
			code |= openStep
		}
		out = binary.AppendVarint(append(out, code), i.began-first)
		if !i.open {
			out = binary.AppendVarint(out, i.ended-i.began)
		}
	}
	return out
}

// openStep is added to the number of a phase with an open step. Its end is missing.
const openStep = 0x80

var errSteps = errors.New("the steps of a lifecycle are damaged")

// decodeStep returns a phase of EncodeSteps. It reports whether there is one.
func decodeStep(data []byte, phase byte) (out interval, found bool, err error) {
	next := func() int64 {
		v, n := binary.Varint(data)
		if n <= 0 {
			data, err = nil, errSteps
			return 0
		}
		data = data[n:]
		return v
	}
	first := next()
	for len(data) > 0 {
		code := data[0]
		data = data[1:]
		out = interval{began: first + next(), open: code&openStep != 0}
		if !out.open {
			out.ended = out.began + next()
		}
		if code&^openStep == phase {
			return out, err == nil, err
		}
	}
	return out, false, err
}

// ofStep makes a function of the steps and the name of a phase.
func ofStep(value func(interval) driver.Value) func(a, b driver.Value) (driver.Value, error) {
	return func(a, b driver.Value) (driver.Value, error) {
		data, isData := a.([]byte)
		name, _ := b.(string)
		phase, isPhase := stepCodes[name]
		if !isData || !isPhase {
			return nil, fmt.Errorf("needs steps and the name of a phase, not %T and %v", a, b)
		}
		i, found, err := decodeStep(data, phase)
		if !found {
			return nil, err
		}
		return value(i), nil
	}
}
