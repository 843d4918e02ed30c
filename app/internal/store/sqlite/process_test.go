// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqlite_test

import (
	"bufio"
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

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// asWriter is the environment variable that makes the test binary a writer of the named database.
const asWriter = "LIFELINE_TEST_STORE"

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

// writeOn writes batches endlessly and prints the revision of each stored one. The state holds the
// number of spans of each trace. Every third trace is opened, and finished by the next batch.
func writeOn(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	for revision := stats.Revision + 1; ; revision++ {
		tr := numbered(revision)
		b := &store.Batch{
			Revision: revision,
			AsOf:     spantest.Epoch,
			State:    map[string][]byte{"revision": strconv.AppendInt(nil, revision, 10)},
		}
		b.Finished = []*span.Trace{tr}
		b.Open = []*span.Trace{numbered(revision + 1)}
		if err := s.Write(ctx, b); err != nil {
			return err
		}
		fmt.Println(revision)
	}
}

func numbered(n int64) *span.Trace {
	tr := spantest.Many(int(2 + n%7))
	tr.ID = span.DeriveTraceID("numbered", strconv.FormatInt(n, 10))
	for _, s := range tr.Spans {
		s.TraceID = tr.ID
	}
	return tr
}

// TestKilled kills a writer at random moments. All printed batches are stored, and the state fits
// the traces.
func TestKilled(t *testing.T) {
	const seed, kills = 1, 12
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "lifeline.db")
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
			if _, err := sqlite.Open(
				t.Context(),
				path,
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
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Revision < printed || stats.Traces != stats.Revision+1 || stats.Open != 1 ||
		s.Opening().SetAside != "" {
		t.Fatalf("after %d: %+v, %v", printed, stats, err)
	}
	state, err := s.State(t.Context(), "revision")
	if err != nil || string(state) != strconv.FormatInt(stats.Revision, 10) {
		t.Errorf("state is %q of revision %d, %v", state, stats.Revision, err)
	}
	for _, n := range []int64{1, stats.Revision, stats.Revision + 1} {
		want := numbered(n)
		got, err := s.Trace(t.Context(), want.ID)
		if err != nil || len(got.Trace.Spans) != len(want.Spans) || got.Open != (n > stats.Revision) {
			t.Errorf("trace %d of %d: %+v, %v", n, stats.Revision, got, err)
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
	path := filepath.Join(dir, "lifeline.db")
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
