// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is one file of a tar.
type entry struct {
	name string
	text []byte
	mode int64 // 0 for a file that everybody may read
}

// writeTar writes entries as files of root, each below its folders, all with one time.
func writeTar(to io.Writer, when time.Time, entries []entry) error {
	w := tar.NewWriter(to)
	folders := map[string]bool{".": true}
	var folder func(name string) error
	folder = func(name string) error {
		if folders[name] {
			return nil
		}
		folders[name] = true
		if err := folder(path.Dir(name)); err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: when})
	}
	for _, e := range entries {
		if err := folder(path.Dir(e.name)); err != nil {
			return err
		}
		if e.mode == 0 {
			e.mode = 0o644
		}
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), ModTime: when}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(e.text); err != nil {
			return err
		}
	}
	return w.Close()
}

// layer returns entries as one layer of an image.
func layer(when time.Time, entries []entry) (v1.Layer, error) {
	var text bytes.Buffer
	if err := writeTar(&text, when, entries); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeLayout writes index to a tar of an OCI layout, under the name reference.
func writeLayout(file string, when time.Time, reference string, index v1.ImageIndex) error {
	return writeLayoutOf(file, when, func(l layout.Path) error {
		return l.AppendIndex(index, layout.WithAnnotations(names(reference)))
	})
}

// names are the annotations for the name of an image: containerd's with the whole reference, and OCI's with the tag.
func names(reference string) map[string]string {
	return map[string]string{
		"io.containerd.image.name":          reference,
		"org.opencontainers.image.ref.name": reference[strings.LastIndex(reference, ":")+1:],
	}
}

// writeLayoutOf writes a tar of the OCI layout that fill appends to.
func writeLayoutOf(file string, when time.Time, fill func(layout.Path) error) error {
	folder, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	l, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := fill(l); err != nil {
		return fmt.Errorf("cannot write an OCI layout: %w", err)
	}
	var entries []entry
	files := os.DirFS(folder)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // sorted
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		entries = append(entries, entry{name: name, text: text})
		return err
	})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writeTar(&text, when, entries); err != nil {
		return err
	}
	return writeFile(file, text.Bytes(), 0o644)
}
