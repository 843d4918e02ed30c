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

// Override changes a configuration before it is checked, as flags do that
// overrule the file. It must do the same each time and must replace lists, not
// change them.
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

// Parse makes a configuration of the text of a file: what it leaves out, or says to be null, is as in [Default]; fields that are not known or
// given twice are refused; overrides are made in their order; what comes out is valid. Nil data is no file at all; a file that is empty is refused,
// for it may be half written. The error tells everything that is wrong, each on a
// line of its own that begins with `configuration:LINE:`.
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
	// What was overruled is not wrong because of the file.
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

// document reads the one document that a file holds.
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
		return nil, fmt.Errorf("it must be fields with values, beginning with apiVersion: %s and kind: %s", APIVersion,
			Kind)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must be one YAML document, but there is more after ---")
	}
	return doc.Content[0], nil
}

// check adds what is wrong with the configuration as a whole, but for fields of
// which something worse is known.
func (d *decoder) check(c *ServerConfiguration) {
	unreadable := map[string]bool{}
	for _, p := range d.wrong {
		unreadable[p.err.Field] = true
	}
	for _, err := range c.validate() {
		if !unreadable[err.Field] {
			d.wrong = append(d.wrong, problem{d.lines[err.Field], err})
		}
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
