// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// patience bounds the wait for finished traces that are not archived yet. Forget waits longer: it
	// must not miss one.
	patience, forgetPatience = 10 * time.Second, time.Minute
	// pageLength is the number of summaries in memory during an export.
	pageLength = 500
)

// Local are the operations on an open archive.
type Local struct {
	// UID is the name of the cluster's directory, and Dir its path.
	UID, Dir string
	// Archive returns the archive, or an error that wraps store.ErrUnavailable.
	Archive func() (store.Archive, error)
	// Log is the log of finished traces that are not archived yet; nil without one.
	Log Log
	// Journal has the data of finished traces that are not sent yet; nil without one.
	Journal Journal
	// Outbox sends the entries of the journal; nil without one.
	Outbox Outbox

	// Limits returns those of the retention now; nil without a server.
	Limits func() store.Limits

	// Difference is the disagreement of the archive with the journal beside it, at the opening.
	Difference journal.Difference

	close func() error
}

// Log is the part of archive.Writer that the operations need.
type Log interface {
	Flush(ctx context.Context) error
	Stats() archive.Stats
}

// Journal is the part of journal.Journal that the operations need.
type Journal interface {
	Unsent(ctx context.Context, traces []trace.TraceID, forgets func(*span.Trace) bool) ([]journal.Item, error)
	Forget(ctx context.Context, traces []trace.TraceID, unsent []journal.Item) error
}

// Outbox is the part of export.Outbox that the operations need.
type Outbox interface {
	Withdraw(ctx context.Context, seqs []uint64) error
}

var _ Operations = (*Local)(nil)

// Cluster implements Operations.
func (l *Local) Cluster() string { return l.UID }

// Close releases what Open has opened.
func (l *Local) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}

// flush waits until the finished traces of the log are in the archive. It returns the number of
// those that are not.
func (l *Local) flush(ctx context.Context, most time.Duration) (missing int, err error) {
	if l.Log == nil {
		return 0, nil
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := l.Log.Flush(waiting); err == nil {
		return 0, nil
	}
	return l.Log.Stats().Entries, context.Cause(ctx)
}

// Export implements Operations.
func (l *Local) Export(ctx context.Context, f Filter, w io.Writer) (out Exported, err error) {
	if out.Missing, err = l.flush(ctx, patience); err != nil {
		return out, err
	}
	a, err := l.Archive()
	if err != nil {
		return out, err
	}
	q := store.Query{Since: f.Since, Until: f.Until, Object: object.Ref{Namespace: f.Namespace}}
	if f.ID != "" {
		low, high, err := digits(f.ID)
		if err != nil {
			return out, err
		}
		if q.IDs, err = a.Between(ctx, store.Scope{}, low, high, 2); err != nil || len(q.IDs) == 0 {
			return out, err
		}
	}
	for sum, err := range summaries(ctx, a, q) {
		if err != nil {
			return out, err
		}
		batches, err := a.Batches(ctx, sum.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return out, err
		}
		line, err := document.Encode(&document.Trace{Cluster: l.UID, Pinned: sum.Pinned, Batches: batches})
		if err != nil {
			return out, err
		}
		if len(line) > MaxLine {
			return out, fmt.Errorf("trace %s is too large for a line: it has %d spans", sum.ID, sum.Spans)
		}
		if _, err := w.Write(line); err != nil {
			return out, err
		}
		out.Traces++
	}
	return out, nil
}

// summaries returns the traces that match q, page by page.
func summaries(ctx context.Context, from store.Reader, q store.Query) iter.Seq2[*store.Summary, error] {
	return func(yield func(*store.Summary, error) bool) {
		q.Limit = pageLength
		for {
			page, err := from.List(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Traces {
				if !yield(&page.Traces[i], nil) {
					return
				}
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

// Import implements Operations.
func (l *Local) Import(ctx context.Context, line []byte) (out Imported, err error) {
	t, err := document.Decode(line)
	if err != nil {
		return out, err
	}
	a, err := l.Archive()
	if err != nil {
		return out, err
	}
	found, err := a.Between(ctx, store.Scope{}, t.ID(), t.ID(), 1)
	if err != nil {
		return out, err
	}
	for _, b := range t.Batches {
		if err := a.Write(ctx, b); err != nil {
			return out, err
		}
	}
	if t.Pinned {
		err = a.Pin(ctx, t.ID(), true)
	}
	out = Imported{Added: len(found) == 0, Cluster: t.Cluster}
	for _, b := range t.Batches {
		for _, of := range b.Finished {
			sum := store.Summarize(of, time.Time{})
			out.End = sum.Start.Add(sum.Duration)
			out.Expired = !t.Pinned && l.Limits != nil && l.Limits().Removes(out.End, sum.Outcome)
			return out, err // the valid version comes first
		}
	}
	return out, err
}

// Backup implements Operations.
func (l *Local) Backup(ctx context.Context, path string) (out Exported, err error) {
	if !filepath.IsAbs(path) {
		return out, fmt.Errorf("%q is not an absolute path", path)
	}
	if out.Missing, err = l.flush(ctx, patience); err != nil {
		return out, err
	}
	a, err := l.Archive()
	if err != nil {
		return out, err
	}
	b, ok := a.(store.Backupper)
	if !ok {
		return out, errors.New("this archive cannot copy itself: use the backup of its database")
	}
	return out, b.Backup(ctx, path)
}

// copyPrefix is the beginning of the names of temporary directories with a copy.
const copyPrefix = "copy.tmp-"

// RemoveCopies removes the temporary copies that a killed process has left in the directory of a
// cluster. The caller has the directory's lock.
func RemoveCopies(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), copyPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Copy implements Operations.
func (l *Local) Copy(ctx context.Context, w io.Writer) (out Exported, err error) {
	dir, err := os.MkdirTemp(l.Dir, copyPrefix)
	if err != nil {
		return out, fmt.Errorf("cannot make a temporary directory for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "lifeline.db")
	if out, err = l.Backup(ctx, path); err != nil {
		return out, err
	}
	f, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer f.Close() // only read
	_, err = io.Copy(w, f)
	return out, err
}

// Forget implements Operations. The journal comes first, so that a repetition after an error finds
// the same traces in the archive.
func (l *Local) Forget(ctx context.Context, namespace string) (out Forgotten, err error) {
	which := store.Selector{Namespace: namespace}
	if err := which.Validate(); err != nil {
		return out, err
	}
	files, err := database.Damaged(datadir.Archive(l.Dir))
	if err != nil {
		return out, err
	}
	if len(files) > 0 {
		return out, fmt.Errorf("nothing was removed: a server still has to copy the readable traces of %s back, "+
			"and that would restore removed traces; try again when its log says that it has, or move the file away",
			strings.Join(files, ", "))
	}
	missing, err := l.flush(ctx, forgetPatience)
	if err != nil {
		return out, err
	}
	if missing > 0 {
		return out, fmt.Errorf("nothing was removed: %d finished traces still wait for the archive after %s; "+
			"see the server's log, and try again", missing, forgetPatience)
	}
	a, err := l.Archive()
	if err != nil {
		return out, err
	}
	if l.Journal != nil {
		var ids []trace.TraceID
		for _, of := range []object.Ref{{Namespace: namespace}, {Kind: namespaces, Name: namespace}} {
			for sum, err := range summaries(ctx, a, store.Query{Object: of}) {
				if err != nil {
					return out, err
				}
				ids = append(ids, sum.ID)
			}
		}
		if out.Unsent, err = l.forgetUnsent(ctx, ids, namespace); err != nil {
			return out, err
		}
	}
	out.Forgotten, err = a.Forget(ctx, which)
	return out, err
}

// forgetUnsent removes the traces from the journal and from the outbox. It returns the number of
// removed entries.
func (l *Local) forgetUnsent(ctx context.Context, ids []trace.TraceID, namespace string) (int, error) {
	unsent, err := l.Journal.Unsent(ctx, ids, func(t *span.Trace) bool { return touches(t, namespace) })
	if err != nil {
		return 0, err
	}
	if l.Outbox != nil {
		seqs := make([]uint64, len(unsent))
		for n, i := range unsent {
			seqs[n] = i.Seq
		}
		if err := l.Outbox.Withdraw(ctx, seqs); err != nil {
			return 0, err
		}
	}
	return len(unsent), l.Journal.Forget(ctx, ids, unsent)
}

// namespaces is the kind of namespaces.
var namespaces = object.Kind{Kind: "Namespace"}

// touches reports whether t has an object in the namespace, or the Namespace itself.
func touches(t *span.Trace, namespace string) bool {
	return store.Touches(t, object.Ref{Namespace: namespace}) ||
		store.Touches(t, object.Ref{Kind: namespaces, Name: namespace})
}

// MinDigits is the smallest number of digits of an ID.
const MinDigits = 8

// Pin implements Operations.
func (l *Local) Pin(ctx context.Context, id string, on bool) (out Pinned, err error) {
	low, high, err := digits(id)
	if err != nil {
		return out, err
	}
	if _, err := l.flush(ctx, patience); err != nil {
		return out, err
	}
	a, err := l.Archive()
	if err != nil {
		return out, err
	}
	found, err := a.Between(ctx, store.Scope{}, low, high, 2)
	switch {
	case err != nil:
		return out, err
	case len(found) == 0:
		return out, fmt.Errorf("%w: no finished trace begins with %s; a trace that is open can be pinned after its end",
			store.ErrNotFound, id)
	case len(found) > 1:
		return out, fmt.Errorf("more than one trace ID begins with %s: give more digits", id)
	}
	r, err := a.Trace(ctx, store.Scope{}, found[0])
	if err != nil {
		return out, err
	}
	return Pinned{TraceID: r.ID.String(), What: what(&r.Summary), Before: r.Pinned}, a.Pin(ctx, r.ID, on)
}

// CheckID returns an error unless text is a trace ID, or at least its first MinDigits digits.
func CheckID(text string) error {
	_, _, err := digits(text)
	return err
}

// digits returns the first and the last ID that begin with text.
func digits(text string) (low, high trace.TraceID, err error) {
	text = strings.ToLower(text)
	const whole = 2 * len(trace.TraceID{})
	if len(text) < MinDigits || len(text) > whole || strings.Trim(text, "0123456789abcdef") != "" {
		return low, high, fmt.Errorf(
			"%.80q is not a trace ID: it has %d hexadecimal digits, and at least the first %d are needed",
			text, whole, MinDigits,
		)
	}
	// The zero ID is the only invalid one, and below all others.
	low, _ = trace.TraceIDFromHex(text + strings.Repeat("0", whole-len(text)))
	high, _ = trace.TraceIDFromHex(text + strings.Repeat("f", whole-len(text)))
	return low, high, nil
}

// what describes a change in a few words.
func what(s *store.Summary) string {
	if s.Command != "" {
		return s.Command
	}
	name := s.Object.Name
	if s.Object.Namespace != "" {
		name = s.Object.Namespace + "/" + name
	}
	done := s.Name
	if s.Verb != "" {
		done = s.Verb + " " + s.Object.Kind.Kind
	}
	return strings.TrimSpace(done + " " + name)
}
