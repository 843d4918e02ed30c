// SPDX-License-Identifier: Apache-2.0

package testimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Binary is where the images hold their program.
const Binary = "/app"

// DefaultPort is the PORT of images whose Spec names no other environment.
const DefaultPort = "8080"

// Spec describes an image. The zero value is an image without environment, as for the sandbox.
type Spec struct {
	// Program is the path of a static binary that the image holds instead of
	// the test program; empty means the test program.
	Program string
	// Padding is the size in bytes of a layer of random bytes, which no
	// compression shrinks; zero means no such layer.
	Padding int64
	// Seed selects those bytes: images of the same size and seed share the
	// layer, and a node that has one does not pull the other.
	Seed uint64
	// Env is the image's environment as NAME=value; a container may override it.
	Env []string
}

// New returns an image around spec.Program or else the program at path, which
// Build made. The same arguments give the same image, byte for byte.
func New(path string, spec Spec) (v1.Image, error) {
	path = cmp.Or(spec.Program, path)
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the program of the image: %w", err)
	}
	layers := []v1.Layer{}
	// The shared layer is compressed well, the random one not at all.
	base, err := layer(Binary, 0o755, int64(len(program)), bytes.NewReader(program), gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("cannot pack the program %s: %w", path, err)
	}
	layers = append(layers, base)
	if spec.Padding > 0 {
		var key [32]byte
		binary.LittleEndian.PutUint64(key[:], spec.Seed)
		padding, err := layer("/padding", 0o644, spec.Padding, rand.NewChaCha8(key), gzip.NoCompression)
		if err != nil {
			return nil, fmt.Errorf("cannot make a padding of %d bytes: %w", spec.Padding, err)
		}
		layers = append(layers, padding)
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, fmt.Errorf("cannot assemble the test image: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot assemble the test image: %w", err)
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = runtime.GOARCH, "linux"
	file.Config = v1.Config{Entrypoint: []string{Binary}, Env: spec.Env}
	return mutate.ConfigFile(img, file)
}

// layer returns a layer with one file.
func layer(name string, mode, size int64, content io.Reader, compression int) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	header := &tar.Header{Name: name[1:], Mode: mode, Size: size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := io.CopyN(w, content, size); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressionLevel(compression))
}
