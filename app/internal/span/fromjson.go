// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// FromJSON is FromOTLP for one trace in OTLP JSON. A caller bounds how deep doc is nested, as
// encoding/json does.
func FromJSON(doc []byte) (*Trace, error) {
	data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(doc)
	if err != nil {
		return nil, fmt.Errorf("cannot read OTLP JSON: %w", err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read OTLP JSON: %w", err)
	}
	var out tracepb.TracesData
	if err := proto.Unmarshal(wire, &out); err != nil {
		return nil, fmt.Errorf("cannot read OTLP JSON: %w", err)
	}
	return FromOTLP(out.GetResourceSpans())
}
