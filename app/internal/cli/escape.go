// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"

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
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	var out bytes.Buffer
	for _, r := range raw.String() {
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// quoted is an escaped noncharacter in front of a string. It makes the YAML writer choose double
// quotes, which allow escapes, and is removed afterwards.
const quoted = `\uFFFE`

// special matches a JSON string with the escape of a character outside ASCII.
var special = regexp.MustCompile(`"((?:[^"\\]|\\[^u])*\\u(?:[^"\\]|\\.)*")`)

// WriteYAML writes v as a YAML document after a separator, with the escapes of WriteJSON.
func WriteYAML(w io.Writer, v any) error {
	var doc bytes.Buffer
	if err := WriteJSON(&doc, v); err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(special.ReplaceAll(doc.Bytes(), []byte(`"\uFFFE$1`)))
	if err != nil {
		return err
	}
	out := bytes.NewBufferString("---\n")
	for _, r := range strings.ReplaceAll(string(text), quoted, "") {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(out, `\u%04x`, r)
		default:
			fmt.Fprintf(out, `\U%08x`, r)
		}
	}
	_, err = w.Write(out.Bytes())
	return err
}
