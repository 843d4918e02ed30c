// SPDX-License-Identifier: Apache-2.0

// Command chart renders the manifests of deploy/ from the Helm chart, and its table of values.
// `make manifests` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "the folder of the repository")
	flag.Parse()
	files, err := everything(*root)
	for path, text := range files {
		if err != nil {
			break
		}
		err = os.WriteFile(filepath.Join(*root, path), []byte(text), 0o644) //nolint:gosec // a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// everything returns all generated files, by their path in the repository.
func everything(root string) (map[string]string, error) {
	c, err := load(root)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range renders {
		if out[r.path], err = c.render(r); err != nil {
			return nil, fmt.Errorf("cannot render %s: %w", r.path, err)
		}
	}
	if out[rules], err = c.rules(); err != nil {
		return nil, err
	}
	if out[guide], err = c.guide(); err != nil {
		return nil, err
	}
	return out, nil
}
