// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// pageAnswer is an answer for Jaeger's page.
type pageAnswer struct {
	Data   any         `json:"data"`
	Total  int         `json:"total"`
	Limit  int         `json:"limit"`
	Offset int         `json:"offset"`
	Errors []pageError `json:"errors"`
}

type pageError struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"msg"`
	TraceID string `json:"traceID,omitempty"`
}

// failPage writes an error in the form of Jaeger's page.
func failPage(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	// An error has no receiver.
	_ = json.NewEncoder(w).Encode(pageAnswer{Errors: []pageError{{Code: code, Message: message}}})
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

func (s *server) servicesPage(r asked, _ url.Values) (answer, error) {
	names, err := s.services(r)
	if err != nil {
		return nil, err
	}
	return value(pageAnswer{Data: names, Total: len(names)})
}

func (s *server) operationsPage(r asked, given url.Values) (answer, error) {
	out, err := s.operations(r, given.Get("service"), "")
	if err != nil {
		return nil, err
	}
	return value(pageAnswer{Data: out, Total: len(out)})
}

// operationsOfPage answers /api/services/{service}/operations. The name may have slashes: Grafana does
// not escape them.
func (s *server) operationsOfPage(r asked, _ url.Values) (answer, error) {
	service, ok := strings.CutSuffix(r.PathValue("service"), "/operations")
	if !ok {
		return nil, bad(http.StatusNotFound, "there is no %.80q here: try /api/services/{service}/operations",
			r.URL.Path)
	}
	found, err := s.operations(r, service, "")
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(found))
	for _, o := range found {
		names = append(names, o.Name)
	}
	return value(pageAnswer{Data: names, Total: len(names)})
}

func (s *server) tracesPage(r asked, given url.Values) (answer, error) {
	q, ids, err := searchPage(given, s.Clock())
	if err != nil {
		return nil, err
	}
	found := bounded{most: s.maxSpans}
	var failed []pageError
	if len(ids) > 0 {
		failed, err = s.byID(r, ids, &found)
	} else {
		err = s.each(r, q, found.add)
	}
	if err != nil {
		return nil, err
	}
	for _, l := range found.left {
		failed = append(failed, pageError{
			Message: bad(0, "the trace is left out: with its %d spans the answer would exceed %d; open it by its ID",
				l.spans, s.maxSpans).message,
			TraceID: l.id.String(),
		})
	}
	return s.page(found.excerpts, failed), nil
}

// byID adds the traces with these IDs, and returns an error for each unknown one.
func (s *server) byID(r asked, ids []trace.TraceID, to *bounded) (unknown []pageError, err error) {
	end, err := s.begin(r.Context())
	if err != nil {
		return nil, err
	}
	defer end()
	for _, id := range ids {
		e, err := s.trace(r, id)
		switch {
		case err != nil:
			return nil, err
		case e == nil:
			unknown = append(unknown, pageError{Message: "trace not found", TraceID: id.String()})
		default:
			to.add(e)
		}
	}
	return unknown, nil
}

func (s *server) tracePage(r asked, given url.Values) (answer, error) {
	id, err := traceID(r.PathValue("traceID"))
	if err != nil {
		return nil, err
	}
	p := paramsPage(given)
	// The times help stores that are divided by time. Here the ID suffices.
	p.micros("start", s.Clock())
	p.micros("end", s.Clock())
	p.truth("raw")
	if p.err != nil {
		return nil, p.err
	}
	e, err := r.access.Trace(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return s.page([]*store.Excerpt{e}, nil), nil
}

// dependenciesPage answers that there are no calls between services: a parent in a trace of a cluster is
// a cause, and not a caller.
func (s *server) dependenciesPage(_ asked, given url.Values) (answer, error) {
	p := paramsPage(given)
	for _, name := range []string{"endTs", "lookback"} {
		p.micros(name, s.Clock())
	}
	if p.err != nil {
		return nil, p.err
	}
	return value(pageAnswer{Data: []struct{}{}})
}

// page is the answer with traces.
func (s *server) page(excerpts []*store.Excerpt, failed []pageError) answer {
	return func(w io.Writer) error {
		before := `{"data":[`
		for _, e := range excerpts {
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if err := s.pageTrace(w, e); err != nil {
				return err
			}
			before = ","
		}
		if len(excerpts) == 0 {
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
		}
		text, err := json.Marshal(failed)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, `],"total":0,"limit":0,"offset":0,"errors":`+string(text)+"}\n")
		return err
	}
}
