// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"math"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestToJSON compares the document with that of the Collector's marshaler, byte for byte.
func TestToJSON(t *testing.T) {
	all := samples()
	odd := spantest.New("odd")
	s := odd.Run("kubectl apply", 0, 10)
	for key, f := range map[string]float64{
		"zero": 0, "minus zero": math.Copysign(0, -1), "tiny": 1e-7, "small": 1e-6, "large": 1e20, "huge": 1e21,
		"half": -0.5, "nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1), "max": math.MaxFloat64,
	} {
		s.Attributes = append(s.Attributes, attribute.Float64(key, f))
	}
	s.Attributes = append(s.Attributes,
		attribute.Int64("min", math.MinInt64), attribute.Bool("no", false), attribute.String("empty", ""),
		attribute.ByteSlice("bytes", []byte{0, 255}), attribute.ByteSlice("no bytes", nil),
		attribute.StringSlice("none", nil),
		attribute.StringSlice("texts", []string{"a\x00\x1f\x7f\"\\/\r\n\t<&>\u2028", ""}),
		attribute.Map("map", attribute.String("", "no key"), attribute.Map("inner")),
		attribute.KeyValue{Key: "untyped"},
	)
	all["odd"], all["joined"], all["hostile"] = odd.Trace, spantest.Joined(), spantest.Hostile()
	for name, tr := range all {
		if got, want := string(span.ToJSON([]*span.Trace{tr}, "c")), marshaled(t, tr); got != want {
			t.Errorf("%s is\n%.2000s\ninstead of\n%.2000s", name, got, want)
		}
	}
	if got := string(span.ToJSON(nil, "")); got != `{"resourceSpans":[]}` {
		t.Errorf("no traces are %s", got)
	}
}

// marshaled returns the document of the Collector's marshaler, but with an empty list, which that one omits.
func marshaled(t *testing.T, tr *span.Trace) string {
	wire, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{tr}, "c")})
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := (&ptrace.JSONMarshaler{}).MarshalTraces(data)
	if err != nil {
		t.Fatal(err)
	}
	if string(doc) == "{}" {
		return `{"resourceSpans":[]}`
	}
	return string(doc)
}
