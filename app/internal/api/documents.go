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

func editionOf(r *store.Record) edition {
	return edition{r.AsOf.UnixNano(), r.Revision, len(r.Trace.Spans), r.Reason}
}

// documentOf returns the document of a trace, by build unless it is remembered.
func (s *Server) documentOf(rec *store.Record, build func() ([]byte, error)) ([]byte, error) {
	if !rec.Open {
		return build()
	}
	version := editionOf(rec)
	if found, is := s.documents.get(rec.ID); is && found.version == version {
		return found.doc, nil
	}
	doc, err := build()
	if err == nil && len(doc) >= minDocument {
		s.documents.put(rec.ID, remembered{version, doc}, len(doc))
	}
	return doc, err
}
