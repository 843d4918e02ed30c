// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// gzipSuffix marks a compressed recording.
const gzipSuffix = ".gz"

// File is a recording on disk, opened for writing.
type File struct {
	*Writer
	close []io.Closer
}

// Create starts a recording in a new file, compressed if its name ends in
// ".gz". An existing file is replaced.
func Create(path string, h Header) (*File, error) {
	raw, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot create recording: %w", err)
	}
	file := &File{close: []io.Closer{raw}}
	var out io.Writer = raw
	if strings.HasSuffix(path, gzipSuffix) {
		zip := gzip.NewWriter(raw)
		file.close = []io.Closer{zip, raw}
		out = zip
	}
	if file.Writer, err = NewWriter(out, h); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Close flushes and closes the file.
func (f *File) Close() error {
	var errs []error
	if f.Writer != nil {
		errs = append(errs, f.Flush())
	}
	for _, c := range f.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// OpenFile is a recording on disk, opened for reading.
type OpenFile struct {
	*Reader
	raw *os.File
}

// Open reads a recording from a file, compressed if its name ends in ".gz".
func Open(path string) (*OpenFile, error) {
	raw, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open recording: %w", err)
	}
	var in io.Reader = raw
	if strings.HasSuffix(path, gzipSuffix) {
		if in, err = gzip.NewReader(raw); err != nil {
			err = fmt.Errorf("cannot read recording %s: %w", path, err)
			return nil, errors.Join(err, raw.Close())
		}
	}
	reader, err := NewReader(in, path)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return &OpenFile{Reader: reader, raw: raw}, nil
}

// Close closes the file.
func (f *OpenFile) Close() error { return f.raw.Close() }
