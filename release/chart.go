// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types of Helm.
const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// packChart writes the chart twice: as the archive of `helm package`, with the time of the commit, and as the OCI
// layout of `helm push`.
func packChart(o options) error {
	if o.chart == "" {
		return nil
	}
	content, metadata, err := repack(o.chart, o.created)
	if err != nil {
		return fmt.Errorf("cannot read the chart %s: %w", o.chart, err)
	}
	if err := writeFile(filepath.Join(o.dist, filepath.Base(o.chart)), content, 0o644); err != nil {
		return err
	}
	reference := fmt.Sprintf("%s/charts/%s:%s", o.registry, metadata["name"], metadata["version"])
	file := filepath.Join(o.dist, fmt.Sprintf("%s-chart_%s_oci.tar", metadata["name"], metadata["version"]))
	return writeLayoutOf(file, o.created, func(l layout.Path) error {
		config, err := json.Marshal(metadata)
		if err != nil {
			return err
		}
		manifest := v1.Manifest{
			SchemaVersion: 2,
			MediaType:     types.OCIManifestSchema1,
			Annotations: map[string]string{
				"org.opencontainers.image.title":   fmt.Sprint(metadata["name"]),
				"org.opencontainers.image.version": fmt.Sprint(metadata["version"]),
				"org.opencontainers.image.created": o.created.Format(time.RFC3339),
			},
		}
		if manifest.Config, err = blob(l, chartConfig, config); err != nil {
			return err
		}
		layer, err := blob(l, chartContent, content)
		if err != nil {
			return err
		}
		manifest.Layers = []v1.Descriptor{layer}
		text, err := json.Marshal(manifest)
		if err != nil {
			return err
		}
		top, err := blob(l, types.OCIManifestSchema1, text)
		if err != nil {
			return err
		}
		top.Annotations = names(reference)
		return l.AppendDescriptor(top)
	})
}

// blob writes text to the layout, and returns its descriptor.
func blob(l layout.Path, as types.MediaType, text []byte) (v1.Descriptor, error) {
	hash, size, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		return v1.Descriptor{}, err
	}
	err = l.WriteBlob(hash, io.NopCloser(bytes.NewReader(text)))
	return v1.Descriptor{MediaType: as, Size: size, Digest: hash}, err
}

// repack returns the archive of a chart with its files in order and one time, and the content of Chart.yaml.
func repack(file string, when time.Time) (content []byte, metadata map[string]any, err error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, err
	}
	var entries []entry
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, entry{name: header.Name, text: text})
		if path.Base(header.Name) == "Chart.yaml" && strings.Count(header.Name, "/") == 1 {
			if err := yaml.Unmarshal(text, &metadata); err != nil {
				return nil, nil, err
			}
		}
	}
	if metadata["name"] == nil || metadata["version"] == nil {
		return nil, nil, errors.New("it has no Chart.yaml with a name and a version")
	}
	// Helm reads Chart.yaml first.
	slices.SortStableFunc(entries, func(a, b entry) int {
		if chartA, chartB := path.Base(a.name) == "Chart.yaml", path.Base(b.name) == "Chart.yaml"; chartA != chartB {
			return map[bool]int{true: -1, false: 1}[chartA]
		}
		return strings.Compare(a.name, b.name)
	})
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if err := errors.Join(writeTar(w, when, entries), w.Close()); err != nil {
		return nil, nil, err
	}
	return text.Bytes(), metadata, nil
}
