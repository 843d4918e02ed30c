// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// FuzzUnseal reads any bytes without a panic. A trace that was read stays equal through seal and unseal.
func FuzzUnseal(f *testing.F) {
	for _, t := range []*span.Trace{spantest.Apply(), spantest.Hostile(), spantest.Joined()} {
		data, err := seal(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{sealForm})
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := unseal(data)
		if err != nil {
			return
		}
		once, err := seal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := unseal(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := seal(second); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x became %x, %v", once, twice, err)
		}
	})
}

// TestSealDamaged: a part that was cut is an error.
func TestSealDamaged(t *testing.T) {
	data, err := seal(spantest.Joined())
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := unseal(data[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(data))
		}
	}
}

// TestPartDigest: a part at another place is damage, also for a reader.
func TestPartDigest(t *testing.T) {
	for name, change := range map[string]string{
		"data":     "UPDATE parts SET data = substr(data, 1, length(data) - 1)",
		"revision": "UPDATE parts SET revision = revision + 1",
		"trace":    "UPDATE traces SET id = x'000102030405060708090a0b0c0d0e0f'",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "lifeline.db")})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if err := s.Write(t.Context(), &store.Batch{
				Revision: 1, AsOf: spantest.Epoch, Finished: []*span.Trace{spantest.Apply()},
			}); err != nil {
				t.Fatal(err)
			}
			tx := func(ctx context.Context, w *database.Tx) error { return w.Exec(ctx, change) }
			if err := s.db.Write(t.Context(), tx); err != nil {
				t.Fatal(err)
			}
			page, err := s.List(t.Context(), store.Query{})
			if err != nil || len(page.Traces) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			if _, err := s.Trace(t.Context(), store.Scope{}, page.Traces[0].ID); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}
