// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/ptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// JSON writes traces as one document of OTLP JSON, {"resourceSpans":[…]}, on one line. Open spans
// end at o.Now and are marked unfinished. The same traces give the same bytes.
func JSON(w io.Writer, traces []*span.Trace, o Options) error {
	doc, err := Document(traces, o)
	if err == nil {
		_, err = w.Write(append(doc, '\n'))
	}
	return err
}

// Document returns the document of JSON, without the end of the line.
func Document(traces []*span.Trace, o Options) ([]byte, error) {
	wire, err := proto.Marshal(&tracepb.TracesData{
		ResourceSpans: span.ToOTLP(span.EndOpen(traces, o.Now), o.Cluster),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode traces: %w", err)
	}
	data, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
	if err != nil {
		return nil, fmt.Errorf("cannot read traces back: %w", err)
	}
	doc, err := (&ptrace.JSONMarshaler{}).MarshalTraces(data)
	if err != nil {
		return nil, fmt.Errorf("cannot write traces as JSON: %w", err)
	}
	if data.ResourceSpans().Len() == 0 {
		doc = []byte(`{"resourceSpans":[]}`) // the marshaler would omit the empty list
	}
	return doc, nil
}

// YAML writes the document of JSON as YAML, after a document separator.
func YAML(w io.Writer, traces []*span.Trace, o Options) error {
	doc, err := Document(traces, o)
	if err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(doc)
	if err != nil {
		return fmt.Errorf("cannot write traces as YAML: %w", err)
	}
	_, err = w.Write(append([]byte("---\n"), text...))
	return err
}

// Names writes the trace IDs, one a line.
func Names(w io.Writer, traces []*span.Trace) error {
	for _, t := range traces {
		if _, err := fmt.Fprintln(w, t.ID); err != nil {
			return err
		}
	}
	return nil
}
