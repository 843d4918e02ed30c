// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxSize bounds a configuration file, in bytes.
const maxSize = 1 << 20

// Override changes a configuration before its validation, as flags override the file. It must be
// deterministic, and must replace lists instead of changing them.
type Override func(*ServerConfiguration)

// Load reads a configuration file, as [Parse] does. Its errors name the file.
func Load(path string, overrides ...Override) (*ServerConfiguration, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	c, err := parse(path, data, overrides)
	if err != nil {
		return nil, fmt.Errorf("cannot use the configuration: %w", err)
	}
	return c, nil
}

// Parse decodes the text of a configuration file. Missing and null fields keep their values from
// [Default]. Unknown and repeated fields are errors. Overrides are applied in order, and the result
// is validated. Nil data means no file. An empty file is an error, because it may be half written.
// The error lists every problem on a separate line that begins with `configuration:LINE:`.
func Parse(data []byte, overrides ...Override) (*ServerConfiguration, error) {
	return parse("configuration", data, overrides)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return data, nil
}

func parse(file string, data []byte, overrides []Override) (*ServerConfiguration, error) {
	c, d := Default(), decoder{lines: map[string]int{}}
	if data != nil {
		root, err := document(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c.APIVersion, c.Kind = "", ""
		d.section(root, nil, reflect.ValueOf(c).Elem())
	}
	before := *c
	for _, override := range overrides {
		override(c)
	}
	// Errors in overridden fields do not come from the file.
	for _, path := range changed(&before, c) {
		for at := range d.lines {
			if at == path || strings.HasPrefix(at, path+"[") {
				delete(d.lines, at)
			}
		}
	}
	d.check(c)
	if err := d.err(file); err != nil {
		return nil, err
	}
	return c, nil
}

// document returns the only document of a file.
func document(data []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("it is empty: it must begin with apiVersion: %s and kind: %s", APIVersion, Kind)
	case err != nil:
		return nil, err
	case len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode:
		return nil, fmt.Errorf("it must be a mapping that begins with apiVersion: %s and kind: %s", APIVersion, Kind)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must be one YAML document, but there is more after ---")
	}
	return doc.Content[0], nil
}

// check adds the errors of the whole configuration, except for fields with a decoding error.
func (d *decoder) check(c *ServerConfiguration) {
	unreadable := d.wrong
	for _, err := range c.validate() {
		path := withoutPosition(err.Field)
		if !slices.ContainsFunc(unreadable, func(p problem) bool {
			return p.err.Field == path || strings.HasPrefix(path, p.err.Field+".")
		}) {
			d.wrong = append(d.wrong, problem{d.line(path), err})
		}
	}
}

// line returns the line of a field. For a field missing from a list element, it is that of the
// element; 0 means outside the file.
func (d *decoder) line(path string) int {
	for {
		if line, ok := d.lines[path]; ok {
			return line
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 || !strings.Contains(path[:i], "[") {
			return 0
		}
		path = path[:i]
	}
}

func (d *decoder) err(file string) error {
	slices.SortStableFunc(d.wrong, func(a, b problem) int { return a.line - b.line })
	var all []error
	for _, p := range d.wrong {
		if p.line == 0 {
			all = append(all, fmt.Errorf("%s: %w", file, p.err))
		} else {
			all = append(all, fmt.Errorf("%s:%d: %w", file, p.line, p.err))
		}
	}
	return errors.Join(all...)
}
