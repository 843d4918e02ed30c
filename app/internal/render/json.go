// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// JSON writes traces as one document of OTLP JSON, {"resourceSpans":[…]}, on one line. Open spans
// end at o.Now and are marked unfinished. The same traces give the same bytes.
func JSON(w io.Writer, traces []*span.Trace, o Options) error {
	_, err := w.Write(append(Document(traces, o), '\n'))
	return err
}

// Document returns the document of JSON, without the end of the line, as EscapeJSON does.
func Document(traces []*span.Trace, o Options) []byte { return EscapeJSON(document(traces, o)) }

func document(traces []*span.Trace, o Options) []byte {
	return span.ToJSON(span.EndOpen(traces, o.Now), o.Cluster)
}

// YAML writes the document of JSON as YAML, after a document separator.
func YAML(w io.Writer, traces []*span.Trace, o Options) error {
	text, err := YAMLOf(document(traces, o))
	if err != nil {
		return fmt.Errorf("cannot write traces as YAML: %w", err)
	}
	_, err = w.Write(text)
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
