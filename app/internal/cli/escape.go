// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// Shown returns text from a cluster or a server in a form safe for a message: bounded and escaped.
func Shown(text string) string { return render.Escape(object.Bound(text)) }

// OneLine returns an error's text on one line and escaped.
func OneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return render.Escape(strings.Join(lines, "; "))
}

// WriteJSON writes v as one line of JSON without terminal control characters.
func WriteJSON(w io.Writer, v any) error {
	doc, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(render.EscapeJSON(doc))
	return err
}

// WriteYAML writes v as a YAML document after a separator, with the escapes of WriteJSON.
func WriteYAML(w io.Writer, v any) error {
	doc, err := marshal(v)
	if err != nil {
		return err
	}
	text, err := render.YAMLOf(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func marshal(v any) ([]byte, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return doc.Bytes(), err
}
