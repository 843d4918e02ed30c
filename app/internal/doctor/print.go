// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// Print writes a report as text: one line per check, the lost information, and the lines to add.
// These begin in the first column for copying.
func Print(w io.Writer, r *Report) error {
	var b strings.Builder
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%-7s  %-*s  %s\n", c.Status, width, c.Name, render.Escape(c.Found))
	}
	section := "\nWhat you lose\n"
	for _, c := range r.Checks {
		if c.Lose != "" {
			fmt.Fprintf(&b, "%s  %-*s  %s\n", section, width, c.Name, render.Escape(c.Lose))
			section = ""
		}
	}
	said := map[Lines]bool{}
	section = "\nWhat to add\n"
	for _, c := range r.Checks {
		head := "\n== " + c.Name + "\n"
		for _, lines := range c.Add {
			if said[lines] {
				continue
			}
			said[lines] = true
			fmt.Fprintf(&b, "%s%s\n# %s\n%s", section, head, lines.Where, block(lines.Text))
			section, head = "", ""
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot print the report: %w", err)
	}
	return nil
}

// block escapes each line of a text for printing.
func block(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(render.Escape(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// PrintJSON writes a report as JSON, without characters that a terminal would interpret.
func PrintJSON(w io.Writer, r *Report) error {
	text, err := marshal(r)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("cannot print the report: %w", err)
	}
	return nil
}

// marshal returns indented JSON.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return render.EscapeJSON(b.Bytes()), nil
}
