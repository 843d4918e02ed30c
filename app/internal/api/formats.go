// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// download is an answer that is no JSON of the API.
type download struct {
	contentType string
	// name is that of the file.
	name string
	body []byte
}

// The formats of a trace beside OTLP JSON, the values of the parameter "format".
const (
	formatOTLP     = "otlp"
	formatPerfetto = "perfetto"
	formatMermaid  = "mermaid"
	formatHTML     = "html"
)

// formats are the known values of the parameter "format".
var formats = []string{formatOTLP, formatPerfetto, formatMermaid, formatHTML}

// inFormat returns a trace in a format other than OTLP JSON.
func (t *traces) inFormat(r *request, e *store.Excerpt, format string) (*download, error) {
	sum := e.Summary()
	now := sum.AsOf
	if sum.Open {
		now = t.clock()
	}
	var body bytes.Buffer
	out := &download{name: "trace-" + sum.ID.String()[:8]}
	traces, o := []*span.Trace{e.Trace()}, render.Options{Now: now, Cluster: t.cluster}
	var err error
	switch format {
	case formatPerfetto:
		out.contentType, out.name = "application/json", out.name+".perfetto.json"
		err = render.Perfetto(&body, traces, o)
	case formatMermaid:
		out.contentType, out.name = "text/plain; charset=utf-8", out.name+".mmd"
		err = render.Mermaid(&body, traces, o)
	default:
		out.contentType, out.name = "text/html; charset=utf-8", out.name+".html"
		err = html(r, &body, e, now)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write trace %s as %s: %w", sum.ID, format, err)
	}
	out.body = body.Bytes()
	return out, nil
}

func html(r *request, body *bytes.Buffer, e *store.Excerpt, now time.Time) error {
	causes, err := r.access.Causes(r.ctx(), e.Trace().ID)
	if err != nil {
		return err
	}
	return HTML(body, e, causes, now, "")
}
