// SPDX-License-Identifier: Apache-2.0

//go:build unix

package database_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// asWriter is the environment variable that makes the test binary a writer of the named database.
const asWriter = "LIFELINE_TEST_DATABASE"

func TestMain(m *testing.M) {
	if path := os.Getenv(asWriter); path != "" {
		if err := writeOn(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// writeOn writes items endlessly and prints the number of each stored one. Each transaction also
// replaces item 0 by the number of items.
func writeOn(path string) error {
	ctx := context.Background()
	d, err := database.Open(ctx, path, items)
	if err != nil {
		return err
	}
	last, err := d.Number(ctx, "SELECT coalesce(max(num), 0) FROM items")
	if err != nil {
		return err
	}
	for num := last + 1; ; num++ {
		if err := d.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
			for num, value := range map[int64][]byte{num: item(num), 0: strconv.AppendInt(nil, num, 10)} {
				if err := tx.Exec(
					ctx,
					"INSERT OR REPLACE INTO items (num, value) VALUES (?, ?)",
					num,
					value,
				); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return d.Failed(ctx, "write to", err)
		}
		fmt.Println(num)
	}
}

func item(num int64) []byte { return bytes.Repeat(strconv.AppendInt(nil, num, 10), 2000) }

// TestKilled kills a writer at random moments. All printed items are stored, and each transaction
// as a whole.
func TestKilled(t *testing.T) {
	const seed, kills = 1, 12
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "items.db")
	for kill := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asWriter+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		printed := int64(0)
		for range 1 + random.IntN(60) {
			if !lines.Scan() {
				break
			}
			if printed, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
				t.Fatalf("the writer printed %s", lines.Text())
			}
		}
		if kill == 0 {
			if _, err := database.Open(
				t.Context(),
				path,
				items,
			); !errors.Is(err, store.ErrInUse) ||
				!strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
				t.Errorf("opening beside another process: %v", err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		survived(t, path, printed)
	}
}

func survived(t *testing.T, path string, printed int64) {
	t.Helper()
	d, err := database.Open(t.Context(), path, items)
	must(t, err)
	defer func() { must(t, d.Close()) }()
	found := map[int64][]byte{}
	var num int64
	var value []byte
	must(t, d.Read(t.Context(), func(q database.Querier) error {
		return database.Scan(
			t.Context(), q, "SELECT num, value FROM items", nil, []any{&num, &value},
			func() error { found[num] = bytes.Clone(value); return nil },
		)
	}))
	last := int64(len(found) - 1)
	if last < printed || string(found[0]) != strconv.FormatInt(last, 10) || d.Opening().SetAside != "" {
		t.Fatalf("after %d: %d items, of %q; %+v", printed, last, found[0], d.Opening())
	}
	for num := int64(1); num <= last; num++ {
		if !bytes.Equal(found[num], item(num)) {
			t.Errorf("item %d of %d has %d bytes", num, last, len(found[num]))
		}
	}
}

// TestReadOnlyDirectory runs as another user, without root's rights.
func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "writer")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "items.db")
	for _, there := range []string{"", path + ".lock", path} {
		if there != "" {
			if err := os.WriteFile(there, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(there, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(binary)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asWriter+"="+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.Output()
		if err == nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), "read-only") ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("with %q there: %v, %s", there, err, out)
		}
	}
}
