// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

const (
	// prefix begins the paths of the API, and pathCharacters are all that they have.
	prefix         = "/api/v1/"
	pathCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/"
)

// Headers of a request and of its answer that a Handler hands on. Others are about the connection of its caller, or
// could name another user.
var (
	handed   = []string{"Accept", "If-None-Match", "Last-Event-Id"}
	returned = []string{
		"Cache-Control", "Content-Disposition", "Content-Length", "Content-Type", "Etag", "X-Accel-Buffering",
	}
)

// Handler returns a handler of the API that hands each request on to the server, as the user of the Client, and its
// answer back. It only reads, and reaches no other path of the server. Its errors are those of the API.
func (c *Client) Handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport:     c.http.Transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = c.location(strings.TrimPrefix(r.In.URL.Path, prefix), r.In.URL.Query())
			r.Out.Host, r.Out.Header = "", only(r.In.Header, handed)
		},
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified {
				defer res.Body.Close()
				return c.answered(res, "application/json")
			}
			res.Header = only(res.Header, returned)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, c.unanswered(err)) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isPath(r.URL.Path):
			api.Reject(w, http.StatusNotFound, "there is no such path: those of the API begin with "+prefix)
		case r.Method != http.MethodGet || r.ContentLength != 0:
			w.Header().Set("Connection", "close") // a body stays unread
			api.Reject(w, http.StatusMethodNotAllowed, "this API only reads: use GET, without a body")
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// isPath reports whether a path can be one of the API. No other path may be requested as the user.
func isPath(path string) bool {
	return strings.HasPrefix(path, prefix) && strings.Trim(path, pathCharacters) == "" &&
		!strings.Contains(path, "..") && !strings.Contains(path, "//")
}

// only returns the headers with these names.
func only(of http.Header, names []string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if values := of.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// unanswered returns the error that an error of a Handler's request means.
func (c *Client) unanswered(err error) error {
	var answer *api.Error
	if errors.As(err, &answer) || errors.Is(err, context.Canceled) {
		return err
	}
	return &api.Error{Code: http.StatusBadGateway, Message: c.unreachable(context.Background(), err).Error()}
}

// fail writes an error as the API does.
func fail(w http.ResponseWriter, err error) {
	var answer *api.Error
	if !errors.As(err, &answer) {
		return // the caller has gone
	}
	var later *notReadyError
	if errors.As(err, &later) {
		w.Header().Set("Retry-After", strconv.Itoa(int(later.after/time.Second)))
	}
	switch {
	case answer.Code == http.StatusUnauthorized: // the caller has no credentials to repeat
		answer.Code = http.StatusServiceUnavailable
	case answer.Code < http.StatusBadRequest: // a redirect
		answer.Code = http.StatusBadGateway
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Code)
	_ = json.NewEncoder(w).Encode(api.Problem{Error: *answer})
}
