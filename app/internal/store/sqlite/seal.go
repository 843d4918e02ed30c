// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// sealForm is the version of the form of compressed traces. It is their first byte; a stream of DEFLATE
// follows.
const sealForm = 1

// maxSealed bounds the unpacked size of a part, against damaged data.
const maxSealed = 1 << 30

var (
	compressors = sync.Pool{New: func() any {
		w, _ := flate.NewWriter(io.Discard, flate.DefaultCompression) // a valid level
		return w
	}}
	decompressors = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}
)

// seal packs and compresses a trace.
func seal(t *span.Trace) ([]byte, error) {
	packed := span.PackTrace(t)
	out := bytes.NewBuffer(make([]byte, 0, len(packed)/2+64))
	out.WriteByte(sealForm)
	w, _ := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(out)
	if _, err := w.Write(packed); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var errSealed = errors.New("the compressed data are damaged")

// unseal is the inverse of seal.
func unseal(data []byte) (*span.Trace, error) {
	if len(data) == 0 || data[0] != sealForm {
		return nil, errSealed
	}
	r, _ := decompressors.Get().(io.ReadCloser)
	defer decompressors.Put(r)
	resetter, is := r.(flate.Resetter)
	if !is {
		return nil, errSealed
	}
	if err := resetter.Reset(bytes.NewReader(data[1:]), nil); err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(make([]byte, 0, 8*len(data)))
	if n, err := io.Copy(out, io.LimitReader(r, maxSealed)); err != nil || n == maxSealed {
		return nil, errors.Join(errSealed, err)
	}
	return span.UnpackTrace(out.Bytes())
}
