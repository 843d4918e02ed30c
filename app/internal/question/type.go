// SPDX-License-Identifier: Apache-2.0

package question

import (
	"math"
	"time"

	"cel.dev/cel-go/cel"
)

// Type is the type of a value in a question.
type Type int

// The types. An engine keeps a Timestamp as Unix nanoseconds and a Duration as nanoseconds, both as
// signed integers of 64 bits.
const (
	Bool Type = iota
	Int
	String
	Timestamp
	Duration
	// List is a list of distinct strings, and Map a map from strings to strings.
	List
	Map
)

// types has the CEL type of each Type.
var types = map[Type]*cel.Type{
	Bool: cel.BoolType, Int: cel.IntType, String: cel.StringType,
	Timestamp: cel.TimestampType, Duration: cel.DurationType,
	List: cel.ListType(cel.StringType), Map: cel.MapType(cel.StringType, cel.StringType),
}

// typeNames has CEL's name of each Type.
var typeNames = map[Type]string{
	Bool: "bool", Int: "int", String: "string", Timestamp: "timestamp", Duration: "duration",
	List: "list(string)", Map: "map(string, string)",
}

// String returns CEL's name of the type, such as "list(string)".
func (t Type) String() string { return typeNames[t] }

// The first and the last time in 64 bits of nanoseconds.
var earliest, latest = time.Unix(0, math.MinInt64).UTC(), time.Unix(0, math.MaxInt64).UTC()

// within returns t, or the nearest time in 64 bits of nanoseconds, as the archive does.
func within(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}
