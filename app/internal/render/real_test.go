// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// recorded returns a trace as a server's API returned it.
func recorded(t *testing.T, name string) *span.Trace {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	read, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(read)
	if err != nil {
		t.Fatal(err)
	}
	var doc tracepb.TracesData
	if err := proto.Unmarshal(wire, &doc); err != nil {
		t.Fatal(err)
	}
	out, err := span.FromOTLP(doc.ResourceSpans)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// screen is the number of lines of a large terminal.
const screen = 55

// TestRealDeployment draws a Deployment of two replicas on a real node, with the audit log and
// tracing in all components: 370 spans on one screen.
func TestRealDeployment(t *testing.T) {
	trace := recorded(t, "deployment.json.gz")
	for name, o := range map[string]render.Options{
		"tree-deployment": {Width: 100}, "tree-deployment-full": {Width: 100, Full: true},
	} {
		var got bytes.Buffer
		if err := render.Tree(&got, []*span.Trace{trace}, o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, "a real run", got.Bytes())
		if lines := bytes.Count(got.Bytes(), []byte("\n")); (lines > screen) != o.Full {
			t.Errorf("%s has %d lines of %d spans, a screen has %d", name, lines, len(trace.Spans), screen)
		}
	}
}

// TestRealGraph draws the same Deployment as a graph: its 370 spans are four reconciliations.
func TestRealGraph(t *testing.T) {
	trace := recorded(t, "deployment.json.gz")
	var got bytes.Buffer
	if err := render.Mermaid(&got, []*span.Trace{trace}, render.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "mermaid-deployment", "a real run", got.Bytes())
}
