// SPDX-License-Identifier: Apache-2.0

package api

import "github.com/kube-lifeline/lifeline/app/internal/store"

const (
	// minDocument is the size from which the document of an open trace is remembered, and maxDocuments
	// bounds all of them: several clients may request a large one again and again.
	minDocument, maxDocuments = 1 << 20, 32 << 20
)

// remembered is the document of one version of an open trace.
type remembered struct {
	version edition
	doc     []byte
}

// edition tells the versions of a trace apart.
type edition struct {
	asOf     int64
	revision int64
	spans    int
	reason   string
}

func editionOf(e *store.Excerpt) edition {
	sum := e.Summary()
	return edition{sum.AsOf.UnixNano(), sum.Revision, len(e.Trace().Spans), sum.Reason}
}

// documentOf returns the document of a trace, by build unless it is remembered. The remembered ones have the
// whole trace.
func (t *traces) documentOf(e *store.Excerpt, build func() ([]byte, error)) ([]byte, error) {
	if !e.Summary().Open || !e.Whole() {
		return build()
	}
	id, version := e.Trace().ID, editionOf(e)
	if found, is := t.documents.get(id); is && found.version == version {
		return found.doc, nil
	}
	doc, err := build()
	if err == nil && len(doc) >= minDocument {
		t.documents.put(id, remembered{version, doc}, len(doc))
	}
	return doc, err
}
