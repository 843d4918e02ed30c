// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// memory is an archive in memory. Its faults are set by a test.
type memory struct {
	store.Archive

	mu      sync.Mutex
	batches []string
	tries   []string
	fail    error // of Write
	fails   int   // the attempts with that error; 0 means all
	refuses int   // a trace that Write refuses
	lost    error // of Check and Close
	closed  int
}

func (m *memory) Write(_ context.Context, b *store.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("%d at %d:", b.Revision, b.AsOf.Unix())
	for _, t := range b.Finished {
		text += fmt.Sprintf(" %d", t.ID[0])
	}
	for _, t := range b.Amendments {
		text += fmt.Sprintf(" +%d", t.ID[0])
	}
	m.tries = append(m.tries, text)
	if m.refuses > 0 && strings.Contains(text+" ", fmt.Sprintf(" %d ", m.refuses)) {
		return fmt.Errorf("constraint failed: %d", m.refuses)
	}
	if m.fail != nil && (m.fails == 0 || len(m.tries) <= m.fails) {
		return m.fail
	}
	m.batches = append(m.batches, text)
	return nil
}

func (m *memory) Check(context.Context) error { m.mu.Lock(); defer m.mu.Unlock(); return m.lost }

func (m *memory) Close() error { m.mu.Lock(); defer m.mu.Unlock(); m.closed++; return m.lost }

func (m *memory) set(f func(*memory)) { m.mu.Lock(); defer m.mu.Unlock(); f(m) }

func (m *memory) want(t *testing.T, reason string, batches ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := cmp.Diff(batches, m.batches); d != "" {
		t.Errorf("%s: the archive's batches -want +got:\n%s", reason, d)
	}
}

// bench is a Writer with its log and its archive.
type bench struct {
	*archive.Writer
	t    *testing.T
	stop func() error

	mu      sync.Mutex
	now     time.Time
	open    func() (store.Archive, error)
	archive *memory
	opened  int
	traces  map[uint64]*span.Trace
	readErr error
	doneErr error
	done    []uint64
	gone    []uint64 // for which Archived was called
	lost    []error
	refused []string
	trouble []string // each change
}

// Done implements archive.Log.
func (b *bench) Done(_ context.Context, by journal.Consumer, seqs ...uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by != journal.Archive {
		b.t.Errorf("done by %b", by)
	}
	if b.doneErr != nil {
		return b.doneErr
	}
	b.done = append(b.done, seqs...)
	return nil
}

func (b *bench) read(_ context.Context, seq uint64) (*span.Trace, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readErr != nil {
		return nil, b.readErr
	}
	if t := b.traces[seq]; t != nil {
		return t, nil
	}
	return nil, store.ErrNotFound
}

func (b *bench) set(f func(*bench)) { b.mu.Lock(); defer b.mu.Unlock(); f(b) }

// item is an entry of the log of a look; its trace has the number of the entry.
func (b *bench) item(look int64, seq uint64) journal.Item {
	id := trace.TraceID{byte(seq)}
	b.set(func(b *bench) { b.traces[seq] = &span.Trace{ID: id, Spans: []*span.Span{{TraceID: id}}} })
	return journal.Item{
		Seq: seq, Revision: look, AsOf: time.Unix(look, 0), TraceID: id, Spans: 1, Bytes: 100,
		For: journal.Archive | journal.Sender,
	}
}

// begin starts a Writer in the bubble of a test.
func begin(t *testing.T, change func(*archive.Options), left ...func(*bench) journal.Item) *bench {
	t.Helper()
	b := &bench{t: t, traces: map[uint64]*span.Trace{}, archive: &memory{}, now: time.Unix(1000, 0)}
	b.open = func() (store.Archive, error) { return b.archive, nil }
	o := archive.Options{
		Open: func(context.Context) (store.Archive, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.opened++
			return b.open()
		},
		Log: b, Read: b.read, Now: func() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return b.now },
		Archived: func(seqs []uint64) { b.set(func(b *bench) { b.gone = append(b.gone, seqs...) }) },
		Lost:     func(why error) { b.set(func(b *bench) { b.lost = append(b.lost, why) }) },
		Refused: func(i journal.Item, why error) {
			b.set(func(b *bench) { b.refused = append(b.refused, fmt.Sprint(i.Seq, " ", why)) })
		},
		Trouble: func(err error) {
			b.set(func(b *bench) {
				if text := fmt.Sprint(err); len(b.trouble) == 0 || b.trouble[len(b.trouble)-1] != text {
					b.trouble = append(b.trouble, text)
				}
			})
		},
	}
	if change != nil {
		change(&o)
	}
	var items []journal.Item
	for _, f := range left {
		items = append(items, f(b))
	}
	b.Writer = archive.New(o, items)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = b.stop() })
	return b
}

func (b *bench) wantDone(reason string, seqs ...uint64) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := cmp.Diff(seqs, b.done); d != "" {
		b.t.Errorf("%s: done -want +got:\n%s", reason, d)
	}
}

func (b *bench) wantStats(reason string, want archive.Stats) {
	b.t.Helper()
	if d := cmp.Diff(want, b.Stats()); d != "" {
		b.t.Errorf("%s: -want +got:\n%s", reason, d)
	}
}

// TestOneBatchALook: the entries of a look are one batch, in order, those of an earlier process
// first. Entries for the sender only are not written.
func TestOneBatchALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, nil,
			func(b *bench) journal.Item { return b.item(1, 1) },
			func(b *bench) journal.Item { return b.item(1, 2) },
			func(b *bench) journal.Item { i := b.item(1, 3); i.For = journal.Sender; return i },
			func(b *bench) journal.Item { return b.item(2, 4) },
		)
		late := b.item(3, 6)
		late.Amends = true
		b.Add(b.item(3, 5), late) // the writer runs: the entries of a look come together
		b.Add(b.item(4, 7), b.item(4, 8))
		synctest.Wait()
		b.archive.want(t, "", "1 at 1: 1 2", "2 at 2: 4", "3 at 3: 5 +6", "4 at 4: 7 8")
		b.wantDone("", 1, 2, 4, 5, 6, 7, 8)
		b.wantStats("nothing waits", archive.Stats{})
		b.set(func(b *bench) {
			if !slices.Equal(b.gone, b.done) {
				t.Errorf("readers lost %v, done are %v", b.gone, b.done)
			}
		})
	})
}

// TestOpensLater: entries wait while the archive cannot be opened.
func TestOpensLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := fmt.Errorf("%w: /secret/lifeline.db", store.ErrFull)
		b := begin(t, func(o *archive.Options) {
			open := o.Open
			o.Open = func(ctx context.Context) (store.Archive, error) {
				if a, err := open(ctx); time.Now().After(time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)) {
					return a, err
				}
				return nil, why
			}
		})
		if _, err := b.Archive(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("at first: %v", err)
		}
		b.Add(b.item(1, 1))
		time.Sleep(30 * time.Second)
		b.Add(b.item(2, 2))
		if _, err := b.Reader(); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrFull) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("later: %v, want the kind of the trouble without its path", err)
		}
		b.wantStats("they wait", archive.Stats{Entries: 2, Bytes: 200, Oldest: time.Unix(1, 0)})
		b.set(func(b *bench) {
			if b.opened < 3 || b.opened > 15 {
				t.Errorf("%d attempts in 30 s", b.opened)
			}
		})
		select {
		case <-b.Opened():
			t.Error("it is open")
		default:
		}
		time.Sleep(time.Minute)
		<-b.Opened()
		if a, err := b.Archive(); err != nil || a != store.Archive(b.archive) {
			t.Errorf("got %v, %v", a, err)
		}
		b.archive.want(t, "", "1 at 1: 1", "2 at 2: 2")
		b.wantDone("", 1, 2)
		b.set(func(b *bench) {
			if d := cmp.Diff([]string{why.Error(), "<nil>"}, b.trouble); d != "" {
				t.Errorf("troubles -want +got:\n%s", d)
			}
		})
	})
}

// TestLostWhileOpen: a lost archive is closed and opened again, also while nothing is written. What
// was not written goes to the new one.
func TestLostWhileOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		lose func(*memory)
		add  bool
	}{
		"found by retention":   {func(*memory) {}, false},
		"found by a check":     {func(m *memory) { m.lost = &store.LostError{File: "f", What: "was deleted"} }, false},
		"found before a write": {func(m *memory) { m.lost = &store.LostError{File: "f", What: "was deleted"} }, true},
		"found by a write":     {func(m *memory) { m.fail = fmt.Errorf("cannot write: %w", store.ErrDamaged) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, nil)
				b.Add(b.item(1, 1))
				synctest.Wait()
				old := b.archive
				b.set(func(b *bench) { b.archive = &memory{} })
				old.set(tc.lose)
				if name == "found by retention" {
					b.Damaged(old, fmt.Errorf("cannot remove: %w", store.ErrDamaged))
					b.Damaged(&memory{}, store.ErrDamaged) // one that is gone already
				}
				if tc.add {
					b.Add(b.item(2, 2))
				}
				time.Sleep(time.Minute)
				b.Add(b.item(3, 3))
				synctest.Wait()
				old.want(t, "the lost one", "1 at 1: 1")
				want := []string{"3 at 3: 3"}
				if tc.add {
					want = []string{"2 at 2: 2", "3 at 3: 3"}
				}
				b.archive.want(t, "the new one", want...)
				b.set(func(b *bench) {
					if len(b.lost) != 1 || !errors.Is(b.lost[0], store.ErrDamaged) || b.opened != 2 || old.closed != 1 {
						t.Errorf("losses %v, opened %d times, closed %d times", b.lost, b.opened, old.closed)
					}
					if d := cmp.Diff([]string{"<nil>"}, b.trouble); d != "" {
						t.Errorf("a loss is reported once, troubles -want +got:\n%s", d)
					}
				})
			})
		})
	}
}

// TestFullArchive: batches wait in order and are repeated unchanged.
func TestFullArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, nil)
		synctest.Wait()
		b.archive.set(func(m *memory) { m.fail = store.ErrFull })
		b.Add(b.item(1, 1), b.item(1, 2))
		time.Sleep(10 * time.Second)
		b.Add(b.item(2, 3))
		time.Sleep(50 * time.Second)
		b.wantStats("full", archive.Stats{Entries: 3, Bytes: 300, Oldest: time.Unix(1, 0)})
		if _, err := b.Archive(); err != nil {
			t.Errorf("readers get %v", err)
		}
		b.archive.set(func(m *memory) {
			m.fail = nil
			if len(m.tries) < 5 || len(m.tries) > 20 {
				t.Errorf("%d attempts in a minute", len(m.tries))
			}
			for _, text := range m.tries {
				if text != "1 at 1: 1 2" {
					t.Errorf("another batch was tried: %s", text)
				}
			}
		})
		time.Sleep(20 * time.Second)
		b.archive.want(t, "with room again", "1 at 1: 1 2", "2 at 2: 3")
		b.wantDone("", 1, 2, 3)
		b.set(func(b *bench) {
			if d := cmp.Diff([]string{"<nil>", store.ErrFull.Error(), "<nil>"}, b.trouble); d != "" {
				t.Errorf("troubles -want +got:\n%s", d)
			}
			if b.opened != 1 || len(b.lost) > 0 {
				t.Errorf("a full archive was opened %d times, lost %v", b.opened, b.lost)
			}
		})
	})
}

// TestRefused: a batch that the archive refuses is repeated a few times. Then its entries are written
// one by one, and the refused one is left out. It waits as long as the archive accepts nothing later.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		refuses int
		want    []string
		tries   int // of the whole batch
		waits   bool
	}{
		"the first of a batch":       {1, []string{"1 at 1: 2", "1 at 1: +3", "2 at 2: 4"}, 5, false},
		"the second of a batch":      {2, []string{"1 at 1: 1", "1 at 1: +3", "2 at 2: 4"}, 5, false},
		"a batch of one":             {4, []string{"1 at 1: 1 2 +3", "3 at 3: 5"}, 5, false},
		"an unreadable one after it": {5, []string{"1 at 1: 1 2 +3", "2 at 2: 4"}, 5, true},
		"nothing comes after it":     {4, []string{"1 at 1: 1 2 +3"}, 10, true},
		"nothing is ever accepted":   {-1, nil, 10, true},
		"the archive has no space":   {-2, nil, 10, true},
		"the journal is unreadable":  {-3, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, nil)
				b.archive.set(func(m *memory) {
					m.refuses = tc.refuses
					m.fail = map[int]error{-1: errors.New("a bug"), -2: store.ErrFull}[tc.refuses]
				})
				if tc.refuses == -3 {
					b.set(func(b *bench) { b.readErr = errors.New("disk I/O error") })
				}
				late := b.item(1, 3)
				late.Amends = true
				b.Add(b.item(1, 1), b.item(1, 2), late, b.item(2, 4))
				switch name {
				case "a batch of one":
					b.Add(b.item(3, 5))
				case "an unreadable one after it":
					b.Add(b.item(3, 5), b.item(4, 6))
					b.set(func(b *bench) { delete(b.traces, 6) })
				}
				time.Sleep(2 * time.Minute)
				b.archive.want(t, "", tc.want...)
				whole := "1 at 1: 1 2 +3"
				if tc.refuses > 3 {
					whole = fmt.Sprintf("%d at %[1]d: %d", tc.refuses-2, tc.refuses)
				}
				got := 0
				for _, text := range b.archive.tries {
					if text == whole {
						got++
					}
				}
				if got < tc.tries || !tc.waits && got > tc.tries+2 {
					t.Errorf("%d attempts with %q, want %d", got, whole, tc.tries)
				}
				b.set(func(b *bench) {
					var want []string
					if !tc.waits {
						want = []string{fmt.Sprintf("%d constraint failed: %d", tc.refuses, tc.refuses)}
					}
					if d := cmp.Diff(want, b.refused); d != "" {
						t.Errorf("refused -want +got:\n%s", d)
					}
				})
				if s := b.Stats(); (s.Entries > 0) != tc.waits || (s.Dropped == 1) == tc.waits {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestPassingError: an error of the archive that ends between the entries of a batch loses none. An
// error that is known to have another reason does not split the batch.
func TestPassingError(t *testing.T) {
	for name, tc := range map[string]struct {
		fail  error
		tries []string
		want  []string
	}{
		"unknown": {
			errors.New("a bug"),
			[]string{"1 at 1: 1", "1 at 1: 2", "1 at 1: 1", "2 at 2: 3"},
			[]string{"1 at 1: 2", "1 at 1: 1", "2 at 2: 3"},
		},
		"of the system": {
			fmt.Errorf("%w: disk I/O error (10)", store.ErrSystem),
			[]string{"1 at 1: 1 2", "1 at 1: 1 2", "2 at 2: 3"},
			[]string{"1 at 1: 1 2", "2 at 2: 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, nil)
				// The attempts with the whole batch fail, and one more.
				b.archive.set(func(m *memory) { m.fail, m.fails = tc.fail, 6 })
				b.Add(b.item(1, 1), b.item(1, 2), b.item(2, 3))
				time.Sleep(time.Minute)
				b.archive.want(t, "", tc.want...)
				if d := cmp.Diff(tc.tries, b.archive.tries[5:]); d != "" {
					t.Errorf("after five attempts -want +got:\n%s", d)
				}
				b.wantStats("nothing is lost", archive.Stats{})
				b.wantDone("", 1, 2, 3)
				b.set(func(b *bench) {
					if len(b.refused) > 0 {
						t.Errorf("refused: %v", b.refused)
					}
				})
			})
		})
	}
}

// TestLimits: the oldest entries beyond a limit are dropped and counted, and leave the log.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*archive.Options)
		now    int64
		kept   []string
	}{
		"none":  {nil, 100, []string{"1 at 1: 1 2", "2 at 2: 3", "3 at 3: 4"}},
		"bytes": {func(o *archive.Options) { o.MaxBytes = 250 }, 100, []string{"2 at 2: 3", "3 at 3: 4"}},
		"part of a look": {
			func(o *archive.Options) { o.MaxBytes = 300 }, 100, []string{"1 at 1: 2", "2 at 2: 3", "3 at 3: 4"},
		},
		"age": {func(o *archive.Options) { o.MaxAge = 10 * time.Second }, 13, []string{"3 at 3: 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, tc.change)
				b.set(func(b *bench) { b.now = time.Unix(4, 0) })
				b.archive.set(func(m *memory) { m.fail = store.ErrFull })
				b.Add(b.item(1, 1), b.item(1, 2), b.item(2, 3), b.item(3, 4))
				b.set(func(b *bench) { b.now = time.Unix(tc.now, 0) })
				time.Sleep(time.Minute)
				left := len(strings.Fields(strings.Join(tc.kept, " "))) - 3*len(tc.kept)
				got := b.Stats()
				if got.Entries != left || got.Bytes != 100*left || got.Dropped != int64(4-left) {
					t.Errorf("%+v, want %d entries", got, left)
				}
				b.set(func(b *bench) {
					if len(b.done) != 4-left || len(b.gone) != 4-left {
						t.Errorf("done %v, gone for readers %v", b.done, b.gone)
					}
				})
				b.archive.set(func(m *memory) { m.fail = nil })
				time.Sleep(time.Minute)
				b.archive.want(t, "", tc.kept...)
				b.wantStats("", archive.Stats{Dropped: int64(4 - left)})
			})
		})
	}
}

// TestLimitsWithoutAnArchive: the limits hold while the archive cannot be opened.
func TestLimitsWithoutAnArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, func(o *archive.Options) {
			o.MaxBytes = 150
			o.Open = func(context.Context) (store.Archive, error) { return nil, store.ErrReadOnly }
		})
		b.Add(b.item(1, 1), b.item(2, 2))
		time.Sleep(time.Minute)
		b.wantStats("", archive.Stats{Entries: 1, Bytes: 100, Oldest: time.Unix(2, 0), Dropped: 1})
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWritesTheRest: at the end the rest is written, and the archive is closed.
func TestWritesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, nil)
		synctest.Wait()
		b.archive.set(func(m *memory) { m.fail = store.ErrFull })
		b.Add(b.item(1, 1), b.item(2, 2))
		synctest.Wait()
		b.archive.set(func(m *memory) { m.fail = nil })
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.archive.want(t, "", "1 at 1: 1", "2 at 2: 2")
		b.wantDone("", 1, 2)
		if b.archive.closed != 1 {
			t.Errorf("closed %d times", b.archive.closed)
		}
		if _, err := b.Archive(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestEndsInTime: an archive that cannot be written does not delay the end. The rest stays in the log.
func TestEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, nil)
		synctest.Wait()
		b.archive.set(func(m *memory) { m.fail = store.ErrFull })
		b.Add(b.item(1, 1))
		began := time.Now()
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the end took %s", took)
		}
		b.wantDone("it stays")
	})
}

// TestDoneFails: entries that cannot be marked are marked later. The journal's trouble is none of the
// archive's, even if the journal is lost.
func TestDoneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, nil)
		b.set(func(b *bench) { b.doneErr = &store.LostError{File: "journal.db", What: "was deleted"} })
		for look := range int64(5) {
			b.Add(b.item(look+1, uint64(look+1)))
			time.Sleep(time.Second)
		}
		b.archive.want(t, "", "1 at 1: 1", "2 at 2: 2", "3 at 3: 3", "4 at 4: 4", "5 at 5: 5")
		b.wantStats("", archive.Stats{})
		b.wantDone("not yet")
		b.set(func(b *bench) {
			if b.opened != 1 || len(b.lost) > 0 {
				t.Errorf("the archive was opened %d times, lost for %v", b.opened, b.lost)
			}
			if d := cmp.Diff([]string{"<nil>"}, b.trouble); d != "" {
				t.Errorf("troubles -want +got:\n%s", d)
			}
			b.doneErr = nil
		})
		time.Sleep(time.Minute) // without further entries
		b.wantDone("later", 1, 2, 3, 4, 5)
	})
}

// TestManyDone: each of many entries is marked.
func TestManyDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1200
		b := begin(t, nil)
		var items []journal.Item
		for i := range uint64(n) {
			items = append(items, b.item(int64(i+1), i+1))
		}
		b.Add(items...)
		synctest.Wait()
		b.set(func(b *bench) {
			if len(b.done) != n || !slices.IsSorted(b.done) {
				t.Errorf("%d of %d are done", len(b.done), n)
			}
		})
	})
}

// TestLostEntries: entries that were lost with the journal are counted, and leave the others alone. A
// journal that cannot be read now is tried again.
func TestLostEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		dropped int64
		want    []string
	}{
		"lost":    {store.ErrNotFound, 2, []string{"2 at 2: 4"}},
		"damaged": {fmt.Errorf("entry: %w", store.ErrDamaged), 2, []string{"2 at 2: 4"}},
		"busy":    {errors.New("busy"), 0, []string{"1 at 1: 1 2", "2 at 2: 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, nil)
				synctest.Wait()
				b.set(func(b *bench) { b.readErr = tc.err })
				b.Add(b.item(1, 1), b.item(1, 2))
				synctest.Wait()
				b.set(func(b *bench) { b.readErr = nil })
				b.Add(b.item(2, 4))
				time.Sleep(time.Minute)
				b.archive.want(t, "", tc.want...)
				b.wantStats("", archive.Stats{Dropped: tc.dropped})
				b.wantDone("", 1, 2, 4)
				b.set(func(b *bench) {
					if b.opened != 1 {
						t.Errorf("opened %d times", b.opened)
					}
				})
			})
		})
	}
}
