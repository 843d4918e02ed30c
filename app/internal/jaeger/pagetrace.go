// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// pageSpan is a span for Jaeger's page. Times are in microseconds.
type pageSpan struct {
	TraceID    string      `json:"traceID"`
	SpanID     string      `json:"spanID"`
	Operation  string      `json:"operationName"`
	References []reference `json:"references"`
	StartTime  uint64      `json:"startTime"`
	Duration   uint64      `json:"duration"`
	Tags       []tag       `json:"tags"`
	Logs       []pageLog   `json:"logs"`
	ProcessID  string      `json:"processID"`
	Warnings   []string    `json:"warnings"`
}

// reference leads to the parent (CHILD_OF) or to the target of a link (FOLLOWS_FROM).
type reference struct {
	Type    string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

type tag struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type pageLog struct {
	Timestamp uint64 `json:"timestamp"`
	Fields    []tag  `json:"fields"`
}

type process struct {
	ServiceName string `json:"serviceName"`
	Tags        []tag  `json:"tags"`
}

// pageTrace writes one trace.
func (s *server) pageTrace(w io.Writer, e *store.Excerpt) error {
	id := e.Trace().ID
	if _, err := fmt.Fprintf(w, `{"traceID":%q,"spans":[`, id.String()); err != nil {
		return err
	}
	known := processes{ids: map[string]string{}, byID: map[string]process{}}
	before := ""
	if err := parts(e.Trace(), func(part *span.Trace) error {
		for _, rs := range span.ToOTLP(span.EndOpen([]*span.Trace{part}, e.Summary().AsOf), s.Cluster) {
			of, err := known.id(rs.GetResource())
			if err != nil {
				return err
			}
			for _, ss := range rs.GetScopeSpans() {
				for _, one := range ss.GetSpans() {
					text, err := json.Marshal(pageSpanOf(one, ss.GetScope(), of))
					if err != nil {
						return fmt.Errorf("cannot write span %x of trace %s: %w", one.GetSpanId(), id, err)
					}
					if _, err := io.WriteString(w, before+string(text)); err != nil {
						return err
					}
					before = ","
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	text, err := json.Marshal(known.byID)
	if err != nil {
		return fmt.Errorf("cannot write the processes of trace %s: %w", id, err)
	}
	_, err = io.WriteString(w, `],"processes":`+string(text)+`,"warnings":null}`)
	return err
}

// processes are the resources of a trace, each once.
type processes struct {
	// ids are by content.
	ids  map[string]string
	byID map[string]process
}

func (p *processes) id(r *resourcepb.Resource) (string, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("cannot encode a resource: %w", err)
	}
	id := p.ids[string(content)]
	if id == "" {
		id = "p" + strconv.Itoa(len(p.ids)+1)
		p.ids[string(content)] = id
		p.byID[id] = processOf(r)
	}
	return id, nil
}

func processOf(r *resourcepb.Resource) process {
	out := process{Tags: []tag{}}
	for _, kv := range r.GetAttributes() {
		if kv.GetKey() == "service.name" {
			out.ServiceName = kv.GetValue().GetStringValue()
			continue
		}
		out.Tags = append(out.Tags, tagOf(kv))
	}
	out.ServiceName = cmp.Or(out.ServiceName, unknownService)
	return out
}

func pageSpanOf(s *tracepb.Span, scope *commonpb.InstrumentationScope, process string) pageSpan {
	out := pageSpan{
		TraceID:    hex.EncodeToString(s.GetTraceId()),
		SpanID:     hex.EncodeToString(s.GetSpanId()),
		Operation:  s.GetName(),
		References: referencesOf(s),
		StartTime:  s.GetStartTimeUnixNano() / 1000,
		Duration:   (s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano()) / 1000,
		Tags:       tagsOf(s, scope),
		Logs:       make([]pageLog, 0, len(s.GetEvents())),
		ProcessID:  process,
	}
	if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() { // an end that OTLP cannot represent
		out.Duration = 0
	}
	for _, e := range s.GetEvents() {
		l := pageLog{Timestamp: e.GetTimeUnixNano() / 1000, Fields: []tag{}}
		if e.GetName() != "" && !slices.ContainsFunc(e.GetAttributes(), func(kv *commonpb.KeyValue) bool {
			return kv.GetKey() == "event"
		}) {
			l.Fields = append(l.Fields, tag{"event", "string", e.GetName()})
		}
		for _, kv := range e.GetAttributes() {
			l.Fields = append(l.Fields, tagOf(kv))
		}
		out.Logs = append(out.Logs, l)
	}
	return out
}

func referencesOf(s *tracepb.Span) []reference {
	out := []reference{}
	own, parent := hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetParentSpanId())
	if parent != "" {
		out = append(out, reference{"CHILD_OF", own, parent})
	}
	for _, l := range s.GetLinks() {
		r := reference{"FOLLOWS_FROM", hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())}
		if r.TraceID != own || r.SpanID != parent { // the parent has its reference
			out = append(out, r)
		}
	}
	return out
}

// kinds are the values of span.kind.
var kinds = map[tracepb.Span_SpanKind]string{
	tracepb.Span_SPAN_KIND_INTERNAL: "internal",
	tracepb.Span_SPAN_KIND_SERVER:   "server",
	tracepb.Span_SPAN_KIND_CLIENT:   "client",
	tracepb.Span_SPAN_KIND_PRODUCER: "producer",
	tracepb.Span_SPAN_KIND_CONSUMER: "consumer",
}

// tagsOf returns the attributes of a span, and its other fields as Jaeger's tags.
func tagsOf(s *tracepb.Span, scope *commonpb.InstrumentationScope) []tag {
	out := make([]tag, 0, len(s.GetAttributes())+6)
	text := func(key, value string) {
		if value != "" {
			out = append(out, tag{key, "string", value})
		}
	}
	text("otel.scope.name", scope.GetName())
	text("otel.scope.version", scope.GetVersion())
	for _, kv := range s.GetAttributes() {
		out = append(out, tagOf(kv))
	}
	text("span.kind", kinds[s.GetKind()])
	if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		text("otel.status_code", "ERROR")
		out = append(out, tag{"error", "bool", true})
	}
	text("otel.status_description", s.GetStatus().GetMessage())
	text("w3c.tracestate", s.GetTraceState())
	return out
}

// unsafeInt is the lowest integer that JavaScript may round.
const unsafeInt = int64(1) << 53

func tagOf(kv *commonpb.KeyValue) tag {
	out := tag{Key: kv.GetKey(), Type: "string"}
	switch v := kv.GetValue().GetValue().(type) {
	case *commonpb.AnyValue_BoolValue:
		out.Type, out.Value = "bool", v.BoolValue
	case *commonpb.AnyValue_IntValue:
		out.Type, out.Value = "int64", v.IntValue
		if v.IntValue >= unsafeInt || v.IntValue <= -unsafeInt {
			out.Value = strconv.FormatInt(v.IntValue, 10)
		}
	case *commonpb.AnyValue_DoubleValue:
		out.Type, out.Value = "float64", plain(kv.GetValue())
	case *commonpb.AnyValue_BytesValue:
		out.Type, out.Value = "binary", plain(kv.GetValue())
	case *commonpb.AnyValue_ArrayValue, *commonpb.AnyValue_KvlistValue:
		text, err := json.Marshal(plain(kv.GetValue()))
		if err != nil {
			text = nil // impossible for the values of plain
		}
		out.Value = string(text)
	default:
		out.Value = kv.GetValue().GetStringValue()
	}
	return out
}

// plain returns a value for JSON. A number without a form in JSON is a text.
func plain(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		if math.IsNaN(v.DoubleValue) || math.IsInf(v.DoubleValue, 0) {
			return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		}
		return v.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *commonpb.AnyValue_ArrayValue:
		out := make([]any, 0, len(v.ArrayValue.GetValues()))
		for _, one := range v.ArrayValue.GetValues() {
			out = append(out, plain(one))
		}
		return out
	case *commonpb.AnyValue_KvlistValue:
		out := make(map[string]any, len(v.KvlistValue.GetValues()))
		for _, kv := range v.KvlistValue.GetValues() {
			out[kv.GetKey()] = plain(kv.GetValue())
		}
		return out
	}
	return nil
}
