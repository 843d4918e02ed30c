// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"testing"
)

// blocks returns p in blocks.
func blocks(tb testing.TB, p []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := &blockWriter{out: &out, buf: bytes.Clone(p)}
	if err := w.close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// unblock returns the content of blocks.
func unblock(r *BlockReader) ([]byte, error) {
	var out []byte
	for !r.End() {
		out = append(out, r.Next(1000)...)
	}
	return out, r.Close()
}

func TestBlocks(t *testing.T) {
	for _, size := range []int{0, 1, blockSize - 1, blockSize, blockSize + 1, 3 * blockSize} {
		want := bytes.Repeat([]byte("abcde"), size/5+1)[:size]
		in := bytes.NewReader(append(blocks(t, want), "rest"...))
		got, err := unblock(NewBlockReader(in))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d bytes and error %v", size, len(got), err)
		}
		if in.Len() != len("rest") {
			t.Errorf("%d bytes: %d bytes are left after the blocks, want 4", size, in.Len())
		}
	}
}

// TestBlocksDamaged flips each bit, and cuts the blocks at each byte.
func TestBlocksDamaged(t *testing.T) {
	good := blocks(t, []byte("hello"))
	for i := range good {
		if _, err := unblock(NewBlockReader(bytes.NewReader(good[:i]))); !errors.Is(err, ErrFormat) {
			t.Errorf("%d of %d bytes gave %v, want ErrFormat", i, len(good), err)
		}
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := unblock(NewBlockReader(bytes.NewReader(bad))); !errors.Is(err, ErrFormat) {
				t.Errorf("byte %d, bit %d: gave %v, want ErrFormat", i, bit, err)
			}
		}
	}
}

// TestBlocksEarlyEnd reads after the last block, and closes before it.
func TestBlocksEarlyEnd(t *testing.T) {
	in := bytes.NewReader(append(blocks(t, nil), blocks(t, []byte("another"))...))
	r := NewBlockReader(in)
	if p := r.Next(1); !r.End() || p != nil || !errors.Is(r.Err(), ErrFormat) {
		t.Errorf("after the last block: got %q and error %v, want ErrFormat", p, r.Err())
	}
	r = NewBlockReader(bytes.NewReader(blocks(t, []byte("hello"))))
	r.Next(1)
	if err := r.Close(); !errors.Is(err, ErrFormat) {
		t.Errorf("Close before the end gave %v, want ErrFormat", err)
	}
}
