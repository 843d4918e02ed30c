// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A saved engine is a sequence of blocks. Each block consists of its length and its CRC-32C, in
// four bytes each, and its content. A block of length zero is the last one. So damaged or missing
// data is detected before it is decoded.
const (
	blockSize = 64 << 10
	blockHead = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockWriter collects the bytes in buf and writes them in blocks.
type blockWriter struct {
	out io.Writer
	buf []byte
	err error
}

// flush writes the full blocks.
func (b *blockWriter) flush() {
	for len(b.buf) >= blockSize {
		b.block(b.buf[:blockSize])
		b.buf = b.buf[:copy(b.buf, b.buf[blockSize:])]
	}
}

func (b *blockWriter) block(p []byte) {
	if b.err != nil {
		return
	}
	var head [blockHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(p))) //nolint:gosec // at most blockSize
	binary.BigEndian.PutUint32(head[4:], crc32.Checksum(p, castagnoli))
	if _, b.err = b.out.Write(head[:]); b.err == nil && len(p) > 0 {
		_, b.err = b.out.Write(p)
	}
}

// close writes the rest and the final block.
func (b *blockWriter) close() error {
	b.flush()
	if len(b.buf) > 0 {
		b.block(b.buf)
	}
	b.block(nil)
	return b.err
}

// BlockReader reads the content of blocks. It keeps its first error.
type BlockReader struct {
	in    io.Reader
	buf   []byte
	left  []byte
	ended bool
	err   error
}

// NewBlockReader returns a BlockReader of in. It reads nothing of in after the last block.
func NewBlockReader(in io.Reader) *BlockReader { return &BlockReader{in: in} }

// ReadByte implements io.ByteReader.
func (b *BlockReader) ReadByte() (byte, error) {
	if !b.more() {
		return 0, b.err
	}
	c := b.left[0]
	b.left = b.left[1:]
	return c, nil
}

// Next returns at most n bytes, and none after an error. They are valid until the next call.
func (b *BlockReader) Next(n int) []byte {
	if !b.more() {
		return nil
	}
	n = min(n, len(b.left))
	p := b.left[:n]
	b.left = b.left[n:]
	return p
}

// more ensures that some bytes are left. It returns false if there is an error.
func (b *BlockReader) more() bool {
	if len(b.left) == 0 && b.End() && b.err == nil {
		b.err = fmt.Errorf("%w: it ends early", ErrFormat)
	}
	return b.err == nil
}

func (b *BlockReader) block() {
	var head [blockHead]byte
	if _, err := io.ReadFull(b.in, head[:]); err != nil {
		b.err = early(err)
		return
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > blockSize {
		b.err = fmt.Errorf("%w: damaged", ErrFormat)
		return
	}
	if b.buf == nil {
		b.buf = make([]byte, blockSize)
	}
	b.left = b.buf[:n]
	if _, err := io.ReadFull(b.in, b.left); err != nil {
		b.err = early(err)
		return
	}
	if crc32.Checksum(b.left, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		b.err = fmt.Errorf("%w: damaged", ErrFormat)
		return
	}
	b.ended = n == 0
}

// End reports whether nothing is left to read: after the last block, and after an error.
func (b *BlockReader) End() bool {
	if b.err == nil && len(b.left) == 0 && !b.ended {
		b.block()
	}
	return b.err != nil || b.ended
}

// Close returns an error if some data was not read, or the first error.
func (b *BlockReader) Close() error {
	if !b.End() {
		b.err = fmt.Errorf("%w: it goes on after its end", ErrFormat)
	}
	return b.err
}

// Err returns the first error.
func (b *BlockReader) Err() error { return b.err }

// early turns the end of the input into an error of format.
func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early", ErrFormat)
	}
	return err
}
