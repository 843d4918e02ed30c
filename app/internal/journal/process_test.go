// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal_test

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
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// asWriter is the environment variable that makes the test binary a writer of the named journal.
const asWriter = "LIFELINE_TEST_JOURNAL"

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

// The entries that wait for the consumers of writeOn.
const archiveLag, senderLag = 10, 20

// writeOn commits looks endlessly, and prints the revision and the last number of each stored one.
// The state holds the last number. Both consumers follow at some distance.
func writeOn(path string) error {
	ctx := context.Background()
	j, err := journal.Open(ctx, path)
	if err != nil {
		return err
	}
	value, err := j.State(ctx, "last")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	last, _ := strconv.Atoi(string(value)) // 0 at first
	for {
		c := &journal.Changes{AsOf: spantest.Epoch}
		for range 1 + last%3 {
			last++
			c.Entries = append(c.Entries, entry(last, both))
		}
		c.State = map[string][]byte{"last": strconv.AppendInt(nil, int64(last), 10)}
		if err := j.Commit(ctx, c); err != nil {
			return err
		}
		for i, e := range c.Entries {
			if want := last - len(c.Entries) + 1 + i; e.Seq != uint64(want) {
				return fmt.Errorf("the number %d came for %d", e.Seq, want)
			}
		}
		fmt.Println(c.Revision, last)
		for by, lag := range map[journal.Consumer]int{journal.Archive: archiveLag, journal.Sender: senderLag} {
			var seqs []uint64
			for seq := last - lag - 2; seq <= last-lag; seq++ {
				if seq > 0 {
					seqs = append(seqs, uint64(seq))
				}
			}
			if err := j.Done(ctx, by, seqs...); err != nil {
				return err
			}
		}
	}
}

// TestKilled kills a writer at random moments. All printed looks are stored, and the state fits the
// log. Entries wait until they were marked, and not longer.
func TestKilled(t *testing.T) {
	const seed, kills = 1, 12
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "journal.db")
	for kill := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asWriter+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		var revision int64
		var last int
		for range 1 + random.IntN(60) {
			if !lines.Scan() {
				break
			}
			if _, err := fmt.Sscan(lines.Text(), &revision, &last); err != nil {
				t.Fatalf("the writer printed %s", lines.Text())
			}
		}
		if kill == 0 {
			if _, err := journal.Open(t.Context(), path); !errors.Is(err, store.ErrInUse) ||
				!strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
				t.Errorf("opening beside another process: %v", err)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		survived(t, path, revision, last)
	}
}

func survived(t *testing.T, path string, revision int64, printed int) {
	t.Helper()
	j, err := journal.Open(t.Context(), path)
	must(t, err)
	defer func() { must(t, j.Close()) }()
	if j.Opening().SetAside != "" {
		t.Fatalf("a kill damages: %+v", j.Opening())
	}
	value, err := j.State(t.Context(), "last")
	must(t, err)
	last, err := strconv.Atoi(string(value))
	if err != nil || last < printed {
		t.Fatalf("the last number is %s after %d", value, printed)
	}
	for by, lag := range map[journal.Consumer]int{journal.Archive: archiveLag, journal.Sender: senderLag} {
		items, err := j.Pending(t.Context(), by)
		must(t, err)
		if len(items) < min(lag, last) || len(items) > lag+6 {
			t.Errorf("%d entries of %d wait for consumer %d", len(items), last, by)
		}
		for i, item := range items {
			seq := last - len(items) + 1 + i
			if item.Seq != uint64(seq) || item.TraceID != numbered(seq).ID || item.Spans != len(numbered(seq).Spans) {
				t.Errorf("entry %d is %+v", seq, item)
			}
			got, err := j.Read(t.Context(), item.Seq)
			if err != nil || got.ID != item.TraceID || len(got.Spans) != item.Spans {
				t.Errorf("entry %d: %v", seq, err)
			}
		}
		if len(items) > 0 && items[len(items)-1].Revision < revision {
			t.Errorf("the last revision is %d after %d", items[len(items)-1].Revision, revision)
		}
	}
	wantKept(t, j, numbered(last).ID, true, true)
	wantKept(t, j, numbered(1).ID, true, true)
	wantKept(t, j, numbered(last+1).ID, false, false)
}
