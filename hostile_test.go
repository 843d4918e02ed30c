// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// TestHostileContext puts malformed values under every key.
func TestHostileContext(t *testing.T) {
	zeros := strings.Repeat("0", 32)
	asMap := func(parent string) string { return `{"traceparent":"` + parent + `"}` }
	tests := map[string]struct{ reason, value string }{
		"Empty":       {"an empty value", ""},
		"Short":       {"one digit is missing", goodParent[:len(goodParent)-1]},
		"ZeroTrace":   {"an all-zero trace ID is invalid", "00-" + zeros + "-" + goodSpan + "-01"},
		"ZeroSpan":    {"an all-zero span ID is invalid", "00-" + goodTrace + "-0000000000000000-01"},
		"VersionFF":   {"W3C forbids version ff", "ff" + goodParent[2:]},
		"VersionFFX":  {"W3C forbids version ff, also with more fields", "ff" + goodParent[2:] + "-x"},
		"UpperCase":   {"W3C requires lower case", strings.ToUpper(goodParent)},
		"Extra":       {"version 00 has four fields", goodParent + "-00"},
		"ExtraJoined": {"a later version must separate further fields", "01" + goodParent[2:] + "00"},
		"Separator":   {"fields are separated by hyphens", strings.ReplaceAll(goodParent, "-", "_")},
		"Blank":       {"white space is not trimmed", " " + goodParent},
		"Newline":     {"white space is not trimmed", goodParent + "\n"},
		"NUL":         {"a NUL is not a digit", goodParent[:20] + "\x00" + goodParent[21:]},
		"NULAfter":    {"a NUL does not end the value", goodParent + "\x00"},
		"NotUTF8":     {"non-ASCII bytes are not digits", goodParent[:20] + "\xff" + goodParent[21:]},
		"NotUTF8Text": {"invalid UTF-8 of the right length", strings.Repeat("\xc3\x28", 28)},
		"Long": {
			"a later version has the same size limit",
			"01" + goodParent[2:] + "-" + strings.Repeat("x", maxParent),
		},
		"Huge":        {"an annotation may have 256 KiB", strings.Repeat("a", 256<<10)},
		"Dots":        {"only separators, in the right length", strings.Repeat("-", parentSize)},
		"Kelvin":      {"a letter with a shorter lower case", "\u212a:1:0:1"},
		"DottedI":     {"a letter with a shorter lower case", strings.Repeat("a", 30) + "\u0130:1:0:1"},
		"DottedISpan": {"the same in a span ID", "1:" + strings.Repeat("a", 14) + "\u0130:0:1"},
		"Colons":      {"too many fields", strings.Repeat(":", 200)},
		"JaegerLong":  {"a trace ID has 128 bits at most", "1" + goodTrace + ":1:0:1"},
		"JaegerZero":  {"an all-zero span ID is invalid", goodTrace + ":0:0:1"},
		"JaegerFlags": {"flags have 8 bits", goodTrace + ":1:0:100"},
		"JaegerNone":  {"no field may be missing", ":::"},
		"Deep":        {"very deep JSON", strings.Repeat(`{"a":`, 100_000)},
		"DeepValid": {
			"deep JSON, well formed and within the size limit",
			strings.Repeat("[", 8000) + strings.Repeat("]", 8000),
		},
		"Array":    {"JSON, but not a map", `["` + goodParent + `"]`},
		"Null":     {"JSON null", `null`},
		"Number":   {"a number is not a traceparent", `{"traceparent":1}`},
		"Nested":   {"a map is not a traceparent", `{"traceparent":{"traceparent":"` + goodParent + `"}}`},
		"MapZero":  {"an all-zero trace ID is invalid", asMap("00-" + zeros + "-" + goodSpan + "-01")},
		"MapUpper": {"W3C requires lower case", asMap(strings.ToUpper(goodParent))},
		"MapCut":   {"truncated JSON", asMap(goodParent)[:60]},
		"MapTwo":   {"JSON with trailing data", asMap(goodParent) + "{}"},
		"MapNotUTF8": {
			"invalid UTF-8",
			"{\"traceparent\":\"" + goodParent[:20] + "\xff" + goodParent[21:] + "\"}",
		},
		"MapNUL":  {"an escaped NUL", asMap(goodParent[:20] + `\u0000` + goodParent[21:])},
		"MapLong": {"a map has a size limit", asMap(goodParent)[:72] + strings.Repeat(" ", maxMap) + "}"},
		"Binary":  {"zeros in OpenCensus' form", base64.StdEncoding.EncodeToString(make([]byte, 29))},
		"BinaryOnes": {
			"version 255 does not exist",
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff", 29))),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, c := range Conventions() {
				if sc := Extract(annotated{c.context: tt.value}); sc.IsValid() {
					t.Errorf("%s: convention %s gives %v", tt.reason, c, sc)
				}
			}
		})
	}
}

// TestHostileBeside puts invalid values next to a valid context. The context must be read without
// them.
func TestHostileBeside(t *testing.T) {
	members := make([]string, 33)
	for i := range members {
		members[i] = fmt.Sprintf("k%d=v", i)
	}
	tests := map[string]struct{ reason, value string }{
		"Nothing":   {"", ""},
		"NoMember":  {"the = is missing", "lifeline"},
		"Long":      {"a tracestate has a size limit", "a=" + strings.Repeat("x", 250) + strings.Repeat(",", maxState)},
		"Huge":      {"an annotation may have 256 KiB", strings.Repeat("a=b,", 64<<10)},
		"Twice":     {"a repeated key", "a=1,a=2"},
		"Many":      {"a tracestate has at most 32 members", strings.Join(members, ",")},
		"NUL":       {"a NUL in a value", "a=\x00"},
		"NotUTF8":   {"non-ASCII bytes", "a=\xff\xfe"},
		"UpperCase": {"keys are lower case", "A=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, c := range Conventions() {
				obj := annotated(c.Encode(good(t, ""), baggage.Baggage{}))
				if c.state != "" {
					obj[c.state] = tt.value
				}
				if c.form == jsonMap && len(tt.value) < maxMap {
					obj[c.context] = formatMap(carried{goodParent, tt.value, ""})
				}
				sc := Extract(obj)
				if !sc.IsValid() || sc.TraceState().Len() != 0 {
					t.Errorf(
						"%s: convention %s: valid = %v, tracestate = %q",
						tt.reason,
						c,
						sc.IsValid(),
						sc.TraceState(),
					)
				}
			}
		})
	}
	t.Run("Baggage", func(t *testing.T) {
		for _, value := range []string{
			"=", "k", "k=\x00", "k=\xff", "k=v,k2",
			strings.Repeat("a", maxBaggage+1), "k=" + strings.Repeat("v", maxBaggage),
		} {
			ctx := Context(t.Context(), annotated{ContextKey: goodParent, BaggageKey: value})
			if !trace.SpanContextFromContext(ctx).IsValid() || baggage.FromContext(ctx).Len() != 0 {
				t.Errorf("%.20q gives baggage %q", value, baggage.FromContext(ctx))
			}
		}
	})
}

// TestHugeMap uses an object with more annotations than an API server accepts.
func TestHugeMap(t *testing.T) {
	obj := Annotations{}
	for i := range 50_000 {
		obj[fmt.Sprint("k", i)] = goodParent
	}
	if sc := Extract(&obj); sc.IsValid() {
		t.Errorf("Extract returned %v without a context", sc)
	}
	Inject(carrying(t, "", ""), &obj)
	if sc := Extract(&obj); !sc.IsValid() || len(obj) != 50_001 {
		t.Errorf("after Inject: %v, %d annotations", sc, len(obj))
	}
	if Remove(&obj); len(obj) != 50_000 {
		t.Errorf("after Remove: %d annotations", len(obj))
	}
}
