// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// jsonSpan returns a request of one valid span with members added. Members may repeat; the last one
// wins.
func jsonSpan(members string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[{` +
		`"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",` +
		`"startTimeUnixNano":"1772366400000000000","endTimeUnixNano":"1772366400000000001",` + members + `}]}]}]}`
}

func TestJSON(t *testing.T) {
	str := func(kvs ...attribute.KeyValue) string {
		out := ""
		for _, kv := range kvs {
			out += kv.Value.Type().String() + " " + kv.Value.String() + ";"
		}
		return out
	}
	cases := map[string]struct {
		reason string
		body   string
		// want is the result of get for the first span. malformed is part of the error instead.
		get       func(*span.Span) string
		want      string
		malformed string
	}{
		"case of IDs": {
			reason: "OTLP: hex IDs are not case-sensitive",
			body:   jsonSpan(`"traceId":"5B8EFFF798038103D269B633813FC60C"`),
			get:    func(s *span.Span) string { return s.TraceID.String() },
			want:   "5b8efff798038103d269b633813fc60c",
		},
		"base64 ID": {
			reason:    "protobuf's JSON mapping uses base64, OTLP's does not",
			body:      jsonSpan(`"traceId":"W47/95gDgQPSabYzgT/GDA=="`),
			malformed: "length mismatch",
		},
		"long ID": {
			reason: "an ID has a fixed length", body: jsonSpan(`"spanId":"` + strings.Repeat("ab", 40) + `"`),
			malformed: "length mismatch",
		},
		"odd ID": {
			reason:    "half a byte",
			body:      jsonSpan(`"spanId":"eee19b7ec3c1b17"`),
			malformed: "length mismatch",
		},
		"empty parent": {
			reason: "many senders write it so",
			body:   jsonSpan(`"parentSpanId":""`),
			get:    func(s *span.Span) string { return s.Parent.String() },
			want:   "0000000000000000",
		},
		"numbers as numbers": {
			reason: "protobuf's JSON allows both",
			body:   jsonSpan(`"startTimeUnixNano":1772366400000000000,"kind":2`),
			get:    func(s *span.Span) string { return s.Start.String() + s.Origin.Kind.String() },
			want:   epoch.String() + "server",
		},
		"enum names": {
			reason: "not OTLP, but what protobuf's own encoders write",
			body:   jsonSpan(`"kind":"SPAN_KIND_CLIENT","status":{"code":"STATUS_CODE_ERROR","message":"EOF"}`),
			get:    func(s *span.Span) string { return s.Origin.Kind.String() + s.Message },
			want:   "clientEOF",
		},
		"unknown enums": {
			reason: "unknown values become unspecified", body: jsonSpan(`"kind":99,"status":{"code":9}`),
			get: func(s *span.Span) string { return s.Origin.Kind.String() }, want: trace.SpanKindUnspecified.String(),
		},
		"unknown fields": {
			reason: "OTLP: must be ignored",
			body:   jsonSpan(`"name":"n","new":{"a":[1,{"b":null}]},"droppedAttributesCount":1`),
			get:    func(s *span.Span) string { return s.Name },
			want:   "n",
		},
		"nulls": {
			reason: "null means the default everywhere",
			body: jsonSpan(
				`"name":null,"attributes":[{"key":"k","value":null}],"events":null,"links":[null],"status":null`,
			),
			get:  func(s *span.Span) string { return s.Name + string(s.Attributes[0].Key) },
			want: "k",
		},
		"escapes": {
			reason: "names of members may have escapes too", body: jsonSpan(`"n\u0061me":"\ud83d\ude00\n\"\/"`),
			get: func(s *span.Span) string { return s.Name }, want: "😀\n\"/",
		},
		"resource last": {
			reason: "members of an object have no order",
			body: `{"resourceSpans":[{"scopeSpans":[{"spans":[{` +
				`"endTimeUnixNano":"1772366400000000001","startTimeUnixNano":"1772366400000000000",` +
				`"spanId":"eee19b7ec3c1b174","traceId":"5b8efff798038103d269b633813fc60c"}],` +
				`"scope":{"version":"2","name":"lib"}}],"schemaUrl":"u",` +
				`"resource":{"attributes":[{"value":{"stringValue":"kubelet"},"key":"service.name"}]}}]}`,
			get: func(s *span.Span) string {
				return s.Service + s.Origin.Scope.Name + s.Origin.Scope.Version + s.Origin.Resource.SchemaURL + str(
					s.Origin.Resource.Attributes...)
			},
			want: "kubeletlib2uSTRING kubelet;",
		},
		"values": {
			reason: "each of the types, as string and as number",
			body: jsonSpan(
				`"attributes":[{"key":"a","value":{"intValue":"-5"}},{"key":"b","value":{"intValue":7}},` +
					`{"key":"c","value":{"doubleValue":"NaN"}},{"key":"d","value":{"doubleValue":1}},` +
					`{"key":"e","value":{"boolValue":false}},{"key":"f","value":{"bytesValue":"+/8="}},` +
					`{"key":"g","value":{"bytesValue":""}},` +
					`{"key":"h","value":{"arrayValue":{"values":[{"intValue":1},{"intValue":"2"}]}}},` +
					`{"key":"i","value":{}}]`,
			),
			get: func(s *span.Span) string { return str(s.Attributes...) },
			want: "INT64 -5;INT64 7;FLOAT64 NaN;FLOAT64 1;BOOL false;BYTESLICE +/8=;BYTESLICE ;" +
				"INT64SLICE [1,2];EMPTY ;",
		},
		"empty":   {reason: "an empty request is valid", body: `{}`, want: "none"},
		"space":   {reason: "JSON may be indented", body: " {\n\t\"resourceSpans\" : [ ] }\n", want: "none"},
		"nothing": {reason: "an empty body is not JSON", body: ``, malformed: "unexpected end of JSON input"},
		"cut off": {
			reason:    "a lost tail",
			body:      jsonSpan(`"name":"n"`)[:200],
			malformed: "unexpected end of JSON input",
		},
		"two":  {reason: "one request is one document", body: `{}{}`, malformed: "after top-level value"},
		"list": {reason: "the request is an object", body: `[]`, malformed: "expect {"},
		"object for list": {
			reason:    "the value has the wrong type",
			body:      `{"resourceSpans":{}}`,
			malformed: "expect [",
		},
		"number for string": {
			reason:    "the value has the wrong type",
			body:      jsonSpan(`"name":1`),
			malformed: `expects "`,
		},
		"fraction": {
			reason:    "there is no half a nanosecond",
			body:      jsonSpan(`"startTimeUnixNano":"1.5"`),
			malformed: "invalid syntax",
		},
		"negative": {
			reason:    "the time is unsigned",
			body:      jsonSpan(`"startTimeUnixNano":-1`),
			malformed: "readUint64",
		},
		"too large": {
			reason:    "the number does not fit in int64",
			body:      jsonSpan(`"attributes":[{"value":{"intValue":"9223372036854775808"}}]`),
			malformed: "out of range",
		},
		"not base64": {
			reason:    "the value has the wrong type",
			body:      jsonSpan(`"attributes":[{"value":{"bytesValue":"!"}}]`),
			malformed: "illegal base64",
		},
		"deep": {
			reason:    "the decoder may recurse",
			body:      strings.Repeat(`{"a":`, 20_000),
			malformed: "depth",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			b := newBatch(now, 1<<20)
			err := b.readJSON([]byte(tc.body))
			if tc.malformed != "" {
				if !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), tc.malformed) {
					t.Errorf("got error %v, want %q", err, tc.malformed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			if len(b.spans) > 0 {
				got = tc.get(b.spans[0])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
