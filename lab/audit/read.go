// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// followInterval is the interval at which Follow reads new lines.
const followInterval = 20 * time.Millisecond

// Read returns the stored writes of the log at path, ordered by their responses.
// It skips an incomplete last line. Its error names an invalid line.
func Read(path string) ([]Write, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read audit log: %w", err)
	}
	defer f.Close()
	return read(path, f)
}

func read(path string, in io.Reader) ([]Write, error) {
	var writes []Write
	log := newLog(path, in)
	for {
		more, err := log.next()
		if errors.Is(err, io.EOF) {
			return writes, nil
		}
		if err != nil {
			return nil, err
		}
		writes = append(writes, more...)
	}
}

// Follow yields the stored writes of the log at path, in the order of Read, and
// then new ones, until ctx ends or the caller breaks. The log need not exist yet.
// It yields at most one error, at the end.
func Follow(ctx context.Context, path string) iter.Seq2[Write, error] {
	return func(yield func(Write, error) bool) {
		f, err := openWhenThere(ctx, path)
		if err != nil {
			yield(Write{}, err)
			return
		}
		if f == nil {
			return
		}
		defer f.Close()
		log := newLog(path, f)
		for ctx.Err() == nil {
			writes, err := log.next()
			switch {
			case errors.Is(err, io.EOF):
				pause(ctx)
			case err != nil:
				yield(Write{}, err)
				return
			}
			for _, w := range writes {
				if !yield(w, nil) {
					return
				}
			}
		}
	}
}

// openWhenThere returns nil if ctx ends first.
func openWhenThere(ctx context.Context, path string) (*os.File, error) {
	for ctx.Err() == nil {
		f, err := os.Open(path)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read audit log: %w", err)
		}
		pause(ctx)
	}
	return nil, nil
}

func pause(ctx context.Context) {
	timer := time.NewTimer(followInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// log reads one file line by line.
type log struct {
	path    string
	in      *bufio.Reader
	line    int
	partial []byte // the start of an incomplete line

	seen map[version]bool
	uids map[named]string
}

// version identifies one state of one object. The response to a removal may
// contain the state before it.
type version struct {
	group, resource, uid, resourceVersion string
	removed                               bool
}

// named identifies an object by its name.
type named struct{ group, resource, namespace, name string }

func newLog(path string, in io.Reader) *log {
	return &log{path: path, in: bufio.NewReaderSize(in, 1<<20), seen: map[version]bool{}, uids: map[named]string{}}
}

// next returns the writes of the next line, often none. io.EOF means that the
// next line is incomplete.
func (l *log) next() ([]Write, error) {
	data, err := l.in.ReadBytes('\n')
	l.partial = append(l.partial, data...)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read audit log %s: %w", l.path, err)
	}
	line := bytes.TrimSpace(l.partial)
	l.partial = nil
	l.line++
	if len(line) == 0 {
		return nil, nil
	}
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("cannot read audit log %s, line %d: %w", l.path, l.line, err)
	}
	if !e.mayWrite() {
		return nil, nil
	}
	if e.Level != "RequestResponse" {
		return nil, fmt.Errorf("cannot read audit log %s, line %d: a %s of %s has level %s, without its response",
			l.path, l.line, e.Verb, e.ObjectRef.Resource, e.Level)
	}
	writes, err := l.writes(&e)
	if err != nil {
		return nil, fmt.Errorf("cannot read audit log %s, line %d: %w", l.path, l.line, err)
	}
	return writes, nil
}

// writes returns the stored writes of a successful request.
func (l *log) writes(e *event) ([]Write, error) {
	base := Write{
		Group: e.ObjectRef.Group, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, UID: e.ObjectRef.UID,
		Verb: e.Verb, Code: e.ResponseStatus.Code, User: e.User.Username, UserAgent: e.UserAgent, AuditID: e.AuditID,
		Received: e.Received, Completed: e.Completed,
	}
	if len(e.ResponseObject) == 0 {
		return nil, nil // the API server does not log the responses of an aggregated API
	}
	var answer object
	if err := json.Unmarshal(e.ResponseObject, &answer); err != nil {
		return nil, fmt.Errorf("the response: %w", err)
	}
	switch {
	case e.Verb == "deletecollection":
		return l.collection(base, answer.Items)
	case answer.Kind == "Status":
		base.Removed = e.Verb == "delete"
		base.UID = cmp.Or(answer.Details.UID, base.UID, l.uids[base.named()])
		return []Write{base}, nil
	case answer.Metadata.ResourceVersion == "":
		return nil, nil // another request removed the object before this delete
	}
	base.describe(answer)
	base.Object = e.ResponseObject
	v := version{base.Group, base.Resource, base.UID, base.ResourceVersion, base.Removed}
	if l.seen[v] {
		return nil, nil
	}
	l.seen[v] = true
	l.uids[base.named()] = base.UID
	return []Write{base}, nil
}

// collection returns one write for each object of a deletecollection. The
// response has their states before the deletion.
func (l *log) collection(base Write, items []json.RawMessage) ([]Write, error) {
	var writes []Write
	for i, item := range items {
		var o object
		if err := json.Unmarshal(item, &o); err != nil {
			return nil, fmt.Errorf("item %d of the response: %w", i, err)
		}
		w := base
		w.describe(o)
		w.ResourceVersion, w.Removed = "", false
		writes = append(writes, w)
	}
	return writes, nil
}

func (w *Write) describe(o object) {
	w.Name = cmp.Or(o.Metadata.Name, w.Name)
	w.Namespace = cmp.Or(o.Metadata.Namespace, w.Namespace)
	w.UID = cmp.Or(o.Metadata.UID, w.UID)
	w.ResourceVersion, w.Generation, w.Removed = o.Metadata.ResourceVersion, o.Metadata.Generation, o.removed()
}

func (w *Write) named() named { return named{w.Group, w.Resource, w.Namespace, w.Name} }
