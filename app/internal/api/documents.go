// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// minDocument is the size from which the document of an open trace is remembered, and maxDocuments
	// bounds all of them.
	minDocument, maxDocuments = 1 << 20, 32 << 20
)

// documents remembers large documents of open traces, which several clients may request again and
// again. The zero value is ready.
type documents struct {
	mu sync.Mutex
	// used has the documents, the last used one last.
	used []*remembered
}

// remembered is the document of one version.
type remembered struct {
	edition
	doc []byte
}

// edition tells the versions of a trace apart.
type edition struct {
	id       trace.TraceID
	asOf     int64
	revision int64
	spans    int
	reason   string
}

func editionOf(r *store.Record) edition {
	return edition{r.ID, r.AsOf.UnixNano(), r.Revision, len(r.Trace.Spans), r.Reason}
}

// get returns the document of a version, by build if it is not remembered.
func (d *documents) get(rec *store.Record, build func() ([]byte, error)) ([]byte, error) {
	if !rec.Open {
		return build()
	}
	d.mu.Lock()
	i := slices.IndexFunc(d.used, func(r *remembered) bool { return r.edition == editionOf(rec) })
	if i >= 0 {
		found := d.used[i]
		d.used = append(slices.Delete(d.used, i, i+1), found)
		d.mu.Unlock()
		return found.doc, nil
	}
	d.mu.Unlock()
	doc, err := build()
	if err == nil && len(doc) >= minDocument {
		d.put(&remembered{editionOf(rec), doc})
	}
	return doc, err
}

// put remembers a document in place of earlier versions of the trace.
func (d *documents) put(r *remembered) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = append(slices.DeleteFunc(d.used, func(old *remembered) bool { return old.id == r.id }), r)
	size := 0
	for i, old := range slices.Backward(d.used) {
		if size += len(old.doc); size > maxDocuments {
			d.used = slices.Delete(d.used, 0, i+1)
			break
		}
	}
}
