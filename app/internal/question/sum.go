// SPDX-License-Identifier: Apache-2.0

package question

import (
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Plus and Minus return a sum and a difference in nanoseconds, and whether they fit into 64 bits.
// A result that does not fit is an error in a question, of times as well as of durations. CEL itself
// has a wider range for times; an archive has not.
func Plus(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// Minus is the difference: see Plus.
func Minus(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

// sums declares + and - for the evaluation by CEL.
func sums() []cel.EnvOption {
	at, length := cel.TimestampType, cel.DurationType
	return []cel.EnvOption{
		cel.Function(
			operators.Add,
			summed(overloads.AddTimestampDuration, at, length, at, Plus),
			summed(overloads.AddDurationTimestamp, length, at, at, Plus),
			summed(overloads.AddDurationDuration, length, length, length, Plus),
		),
		cel.Function(
			operators.Subtract,
			summed(overloads.SubtractTimestampDuration, at, length, at, Minus),
			summed(overloads.SubtractTimestampTimestamp, at, at, length, Minus),
			summed(overloads.SubtractDurationDuration, length, length, length, Minus),
		),
	}
}

// summed declares one overload.
func summed(id string, a, b, result *cel.Type, of func(a, b int64) (int64, bool)) cel.FunctionOpt {
	return cel.Overload(id, []*cel.Type{a, b}, result, cel.BinaryBinding(func(x, y ref.Val) ref.Val {
		n, fits := of(nanos(x), nanos(y))
		switch {
		case !fits:
			return celtypes.NewErr("out of range")
		case result == cel.TimestampType:
			return celtypes.Timestamp{Time: time.Unix(0, n).UTC()}
		}
		return celtypes.Duration{Duration: time.Duration(n)}
	}))
}

// nanos returns the nanoseconds of a time within 64 bits, or of a duration.
func nanos(v ref.Val) int64 {
	switch v := v.(type) {
	case celtypes.Timestamp:
		return v.UnixNano()
	case celtypes.Duration:
		return v.Nanoseconds()
	}
	return 0
}
