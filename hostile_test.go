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

// TestHostileContext puts values that are no context under every key.
func TestHostileContext(t *testing.T) {
	zeros := strings.Repeat("0", 32)
	asMap := func(parent string) string { return `{"traceparent":"` + parent + `"}` }
	tests := map[string]struct{ reason, value string }{
		"Empty":       {"an empty value is no context", ""},
		"Short":       {"one digit is missing", goodParent[:len(goodParent)-1]},
		"ZeroTrace":   {"an all-zero trace ID is invalid", "00-" + zeros + "-" + goodSpan + "-01"},
		"ZeroSpan":    {"an all-zero span ID is invalid", "00-" + goodTrace + "-0000000000000000-01"},
		"VersionFF":   {"W3C forbids version ff", "ff" + goodParent[2:]},
		"VersionFFX":  {"with more fields, too", "ff" + goodParent[2:] + "-x"},
		"UpperCase":   {"W3C wants lower case", strings.ToUpper(goodParent)},
		"Extra":       {"version 00 has four fields", goodParent + "-00"},
		"ExtraJoined": {"a later version separates what it adds", "01" + goodParent[2:] + "00"},
		"Separator":   {"fields are separated by hyphens", strings.ReplaceAll(goodParent, "-", "_")},
		"Blank":       {"nothing is trimmed", " " + goodParent},
		"Newline":     {"nothing is trimmed", goodParent + "\n"},
		"NUL":         {"a NUL is no digit", goodParent[:20] + "\x00" + goodParent[21:]},
		"NULAfter":    {"a NUL ends nothing", goodParent + "\x00"},
		"NotUTF8":     {"bytes beyond ASCII are no digits", goodParent[:20] + "\xff" + goodParent[21:]},
		"NotUTF8Text": {"nor are these", strings.Repeat("\xc3\x28", 28)},
		"Long": {
			"a later version is bounded, too",
			"01" + goodParent[2:] + "-" + strings.Repeat("x", maxParent),
		},
		"Huge":        {"an annotation may have 256 KiB", strings.Repeat("a", 256<<10)},
		"Dots":        {"another separator of the same length", strings.Repeat("-", parentSize)},
		"Kelvin":      {"a letter that gets shorter in lower case", "\u212a:1:0:1"},
		"DottedI":     {"a letter that gets shorter in lower case", strings.Repeat("a", 30) + "\u0130:1:0:1"},
		"DottedISpan": {"the same in a span ID", "1:" + strings.Repeat("a", 14) + "\u0130:0:1"},
		"Colons":      {"too many fields", strings.Repeat(":", 200)},
		"JaegerLong":  {"a trace ID has 128 bits at most", "1" + goodTrace + ":1:0:1"},
		"JaegerZero":  {"an all-zero span ID is invalid", goodTrace + ":0:0:1"},
		"JaegerFlags": {"flags have 8 bits", goodTrace + ":1:0:100"},
		"JaegerNone":  {"no field may be missing", ":::"},
		"Deep":        {"JSON as deep as it gets", strings.Repeat(`{"a":`, 100_000)},
		"DeepValid": {
			"the same, well formed and within bounds",
			strings.Repeat("[", 8000) + strings.Repeat("]", 8000),
		},
		"Array":    {"JSON, but no map", `["` + goodParent + `"]`},
		"Null":     {"JSON, but nothing", `null`},
		"Number":   {"a number is no traceparent", `{"traceparent":1}`},
		"Nested":   {"a map is no traceparent", `{"traceparent":{"traceparent":"` + goodParent + `"}}`},
		"MapZero":  {"an all-zero trace ID is invalid", asMap("00-" + zeros + "-" + goodSpan + "-01")},
		"MapUpper": {"W3C wants lower case", asMap(strings.ToUpper(goodParent))},
		"MapCut":   {"JSON that was cut off", asMap(goodParent)[:60]},
		"MapTwo":   {"JSON and more", asMap(goodParent) + "{}"},
		"MapNotUTF8": {
			"bytes beyond UTF-8",
			"{\"traceparent\":\"" + goodParent[:20] + "\xff" + goodParent[21:] + "\"}",
		},
		"MapNUL":  {"an escaped NUL", asMap(goodParent[:20] + `\u0000` + goodParent[21:])},
		"MapLong": {"a map is bounded", asMap(goodParent)[:72] + strings.Repeat(" ", maxMap) + "}"},
		"Binary":  {"zeros in OpenCensus' form", base64.StdEncoding.EncodeToString(make([]byte, 29))},
		"BinaryOnes": {
			"no version 255 is known",
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff", 29))),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, c := range Conventions() {
				if sc := Extract(annotated{c.context: tt.value}); sc.IsValid() {
					t.Errorf("%s: by %s it reads %v", tt.reason, c, sc)
				}
			}
		})
	}
}

// TestHostileBeside puts bad values beside a good context: it is read without.
func TestHostileBeside(t *testing.T) {
	members := make([]string, 33)
	for i := range members {
		members[i] = fmt.Sprintf("k%d=v", i)
	}
	tests := map[string]struct{ reason, value string }{
		"Nothing":   {"", ""},
		"NoMember":  {"there is no =", "lifeline"},
		"Long":      {"a tracestate is bounded", "a=" + strings.Repeat("x", 250) + strings.Repeat(",", maxState)},
		"Huge":      {"an annotation may have 256 KiB", strings.Repeat("a=b,", 64<<10)},
		"Twice":     {"a key may come once", "a=1,a=2"},
		"Many":      {"there are 32 members at most", strings.Join(members, ",")},
		"NUL":       {"a NUL is no text", "a=\x00"},
		"NotUTF8":   {"bytes beyond ASCII", "a=\xff\xfe"},
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
					t.Errorf("%s: by %s it reads %v with tracestate %q", tt.reason, c, sc.IsValid(), sc.TraceState())
				}
			}
		})
	}
	t.Run("Baggage", func(t *testing.T) {
		for _, value := range []string{"=", "k", "k=\x00", "k=\xff", "k=v,k2", strings.Repeat("a", maxBaggage+1), "k=" + strings.Repeat("v", maxBaggage)} {
			ctx := Context(t.Context(), annotated{ContextKey: goodParent, BaggageKey: value})
			if !trace.SpanContextFromContext(ctx).IsValid() || baggage.FromContext(ctx).Len() != 0 {
				t.Errorf("of %.20q there is baggage %q", value, baggage.FromContext(ctx))
			}
		}
	})
}

// TestHugeMap reads an object with more annotations than an API server admits.
func TestHugeMap(t *testing.T) {
	obj := Annotations{}
	for i := range 50_000 {
		obj[fmt.Sprint("k", i)] = goodParent
	}
	if sc := Extract(&obj); sc.IsValid() {
		t.Errorf("it reads %v", sc)
	}
	Inject(carrying(t, "", ""), &obj)
	if sc := Extract(&obj); !sc.IsValid() || len(obj) != 50_001 {
		t.Errorf("it reads %v of %d", sc, len(obj))
	}
	if Remove(&obj); len(obj) != 50_000 {
		t.Errorf("%d are left", len(obj))
	}
}
