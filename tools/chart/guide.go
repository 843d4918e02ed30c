// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The table stands between these lines of the guide.
const (
	tableBegin = "<!-- Values, written by make manifests. -->\n"
	tableEnd   = "<!-- End of values. -->\n"
)

// schema is the part of a JSON schema that the table shows.
type schema struct {
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Properties  map[string]schema `json:"properties"`
	Closed      *bool             `json:"additionalProperties,omitempty"`
}

// UnmarshalJSON reads additionalProperties only as a boolean; elsewhere it is a schema.
func (s *schema) UnmarshalJSON(text []byte) error {
	var raw struct {
		Description string            `json:"description"`
		Enum        []any             `json:"enum"`
		Properties  map[string]schema `json:"properties"`
		Additional  json.RawMessage   `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*s = schema{Description: raw.Description, Enum: raw.Enum, Properties: raw.Properties}
	if string(raw.Additional) == "false" {
		closed := true
		s.Closed = &closed
	}
	return nil
}

// guide returns the guide with the table of this chart's values.
func (s *source) guide() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, guide))
	if err != nil {
		return "", err
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return "", fmt.Errorf("%s has no place for the values", guide)
	}
	table, err := s.table()
	if err != nil {
		return "", err
	}
	return before + tableBegin + table + tableEnd + after, nil
}

// table returns a row for each value, in the order of their names.
func (s *source) table() (string, error) {
	var top schema
	if err := json.Unmarshal(s.chart.Schema, &top); err != nil {
		return "", fmt.Errorf("cannot read values.schema.json: %w", err)
	}
	var out strings.Builder
	out.WriteString("\n| value | default | meaning |\n| --- | --- | --- |\n")
	if err := rows(&out, "", top, s.chart.Values); err != nil {
		return "", err
	}
	out.WriteString("\n")
	return out.String(), nil
}

// rows writes the values of an object. Every value needs a default and a description.
func rows(out *strings.Builder, prefix string, s schema, defaults map[string]any) error {
	for name := range defaults {
		if _, ok := s.Properties[name]; !ok {
			return fmt.Errorf("values.yaml has %s%s, values.schema.json has not", prefix, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, path := s.Properties[name], prefix+name
		if path == "global" {
			continue
		}
		value, ok := defaults[name]
		if !ok || p.Description == "" {
			return fmt.Errorf("%s needs a default in values.yaml and a description in values.schema.json", path)
		}
		inner, ok := value.(map[string]any)
		if p.Closed != nil && ok && len(p.Properties) > 0 {
			fmt.Fprintf(out, "| **`%s`** | | %s |\n", path, p.Description)
			if err := rows(out, path+".", p, inner); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		meaning := p.Description
		if len(p.Enum) > 0 {
			words := make([]string, len(p.Enum))
			for i, word := range p.Enum {
				words[i] = fmt.Sprint(word)
			}
			meaning += " One of `" + strings.Join(words, "`, `") + "`."
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", path, code(string(text)), meaning)
	}
	return nil
}

// code formats a default. An empty string has no text.
func code(text string) string {
	if text == `""` {
		return ""
	}
	return "`" + strings.Trim(text, `"`) + "`"
}
