// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// databaseFiles returns the content of a database of a stopped server, by the end of its files' names.
func databaseFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, end := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(path + end)
		if !os.IsNotExist(err) {
			must(t, err)
			out[end] = data
		}
	}
	return out
}

// putFiles replaces a database of a stopped server.
func putFiles(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); !os.IsNotExist(err) {
			must(t, err)
		}
	}
	for end, data := range files {
		must(t, os.WriteFile(path+end, data, 0o600))
	}
}

// TestReplacedWhileStopped: a server that finds another archive or an older file reports it once, and
// continues.
func TestReplacedWhileStopped(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   func(string) string
		old    bool // an older copy of the file, else an empty file
		line   string
		want   journal.Difference
	}{
		"empty archive": {
			"its traces are missing", archiveFile, false,
			`(ERROR msg="the archive is not that of the journal: it is new)`, journal.OtherArchive,
		},
		"older archive": {
			"a backup was restored", archiveFile, true,
			`(WARN msg="the archive is older than the journal)`, journal.OlderArchive,
		},
		"older journal": {
			"its next looks would count as older than archived ones", journalFile, true,
			`(ERROR msg="the journal is older than the archive)`, journal.OlderJournal,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			first := startStored(t, data)
			first.look()
			early := first.finish()
			first.archivedAll(early)
			first.end()
			path := tc.file(filepath.Join(data, "c"))
			was := databaseFiles(t, path)
			if !tc.old {
				was = map[string][]byte{"": nil}
			}

			second := startStored(t, data)
			second.look()
			late := second.finish()
			second.archivedAll(early, late)
			commit := pairOf(t, second).Commit
			second.end()
			putFiles(t, path, was)

			third := startStored(t, data)
			third.log.await(t, tc.line)
			if n := testutil.ToFloat64(third.server.metrics.storage.replaced.WithLabelValues(string(tc.want))); n != 1 {
				t.Errorf("%s: counted %g times, want once", tc.reason, n)
			}
			third.look()
			last := third.finish()
			third.archivedAll(last)
			if got := pairOf(t, third).Commit; got <= commit {
				t.Errorf("the last commit is %d, want one after %d", got, commit)
			}
			third.end()

			fourth := startStored(t, data)
			fourth.archivedAll(last)
			if n := testutil.CollectAndCount(fourth.server.metrics.storage.replaced); n != 0 {
				t.Errorf("the next start reports %d differences, want none", n)
			}
		})
	}
}

func pairOf(t *testing.T, p *storedServer) store.Pair {
	t.Helper()
	a, err := p.archive.Archive()
	must(t, err)
	pair, err := a.(store.Paired).Pair(t.Context())
	must(t, err)
	return pair
}
