// SPDX-License-Identifier: Apache-2.0

// Package client is the client of the HTTP API of `lifeline serve`. Its results come from a cluster
// through a server: sizes are bounded here, and texts must be escaped on output.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// DefaultServer is the URL of a server with default settings.
const DefaultServer = "http://127.0.0.1:7070"

// DefaultPatience is the Patience of a new Client. A server needs a few seconds at its start.
const DefaultPatience = 8 * time.Second

// Client is the client of one server. It is safe for concurrent use.
type Client struct {
	// Patience bounds the wait for a server that is not ready, see NotReady; 0 means no wait. It
	// must not change during a request.
	Patience time.Duration

	base *url.URL
	http *http.Client
	// access is for a server that is reached directly, and through is the API server in front of another; one of
	// them is set, or neither.
	access  Access
	through *cluster
	// wait waits for a duration and reports whether ctx is still valid; tests change it.
	wait func(context.Context, time.Duration) bool
	// pause is Watch's pause before it connects again; tests change it.
	pause time.Duration
}

// Query selects traces. A zero field selects all.
type Query struct {
	// Since and Until are RFC 3339 times, or Go durations before the server's time.
	Since, Until string
	Outcomes     []span.Outcome
	// Categories are those of package reason.
	Categories []string
	Open       bool
	// Worse selects converged traces with an aftermath.
	Worse      bool
	SlowerThan time.Duration
	// Object is what a trace must touch; its version does not count.
	Object object.Ref
	// Limit bounds the entries on a page; 0 means the server's default.
	Limit int
	// After is the Next of the previous page.
	After string
	// Where is a question, which selects traces with a matching lifecycle. Since and Until are then
	// about the lifecycle. Empty means none.
	Where string
}

// Trace is a trace of a server. Detail.Summary.AsOf is its time.
type Trace struct {
	api.Detail
	// Trace is the trace itself; its open spans are open.
	Trace *span.Trace
}

// Event is an event of Watch: one of the five is set.
type Event struct {
	// Trace is a new version of a trace, as a whole.
	Trace *Trace
	// Withdrawn is the ID of a trace that was withdrawn, or does not match any more.
	Withdrawn trace.TraceID
	// Amended is a finished trace with another outcome than in its last version.
	Amended *api.Summary
	// Synced follows the open traces; new versions follow it. It comes again after each lost
	// connection.
	Synced bool
	// Lost is the error that ended the connection. Watch connects again.
	Lost error
}

// New returns a Client of the server at that URL or host:port; empty means DefaultServer. It does
// not connect. An error describes a valid URL, or names the unusable file.
func New(server string, a Access) (*Client, error) {
	if server == "" {
		server = DefaultServer
	}
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" ||
		base.Fragment != "" {
		return nil, fmt.Errorf("%.200q is not the URL of a server: give one such as %s", server, DefaultServer)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	config, err := a.check(base)
	if err != nil {
		return nil, err
	}
	return &Client{
		Patience: DefaultPatience, base: base, access: a, wait: wait, pause: retryAfter,
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig:        config,
				Proxy:                  http.ProxyFromEnvironment,
				DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
				TLSHandshakeTimeout:    connectTimeout,
				MaxIdleConnsPerHost:    2,
				IdleConnTimeout:        time.Minute,
				ResponseHeaderTimeout:  answerTimeout,
				MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: noRedirect,
		},
	}, nil
}

// noRedirect refuses redirects. The transport could send credentials to their target.
func noRedirect(*http.Request, []*http.Request) error {
	return errors.New("it sent a redirect, unlike a server of lifeline")
}

// Server is the URL of the server, for messages; without a password.
func (c *Client) Server() string { return c.base.Redacted() }

// Close closes idle connections; the Client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Info returns the server's description.
func (c *Client) Info(ctx context.Context) (*api.Info, error) {
	res, err := c.ask(ctx, "info", nil, "application/json")
	if err != nil {
		return nil, err
	}
	out := &api.Info{}
	doc, err := c.read(res)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(doc, out); err != nil {
		return nil, c.strange(err)
	}
	if n, err := strconv.Atoi(res.Header.Get(headerUnasked)); err == nil && n > 0 {
		out.Unasked = n
	}
	return out, nil
}

// headerUnasked has the number of namespaces whose rights were not asked for.
const headerUnasked = "Lifeline-Unasked"

// Sources returns the sources of the server's traces.
func (c *Client) Sources(ctx context.Context) (*api.Sources, error) {
	out := &api.Sources{}
	return out, c.json(ctx, "sources", nil, out)
}

// List returns one page of traces, the latest start first.
func (c *Client) List(ctx context.Context, q Query) (*api.Page, error) {
	out := &api.Page{}
	return out, c.json(ctx, "traces", q.values(), out)
}

// Pages walks all pages of a list; an error ends it.
func (c *Client) Pages(ctx context.Context, q Query) iter.Seq2[*api.Page, error] {
	return func(yield func(*api.Page, error) bool) {
		for {
			page, err := c.List(ctx, q)
			if !yield(page, err) || err != nil || page.Next == "" || page.Next == q.After {
				return
			}
			q.After = page.Next
		}
	}
}

// WriteQuery selects writes. A zero field selects all.
type WriteQuery struct {
	// Since, Object and Limit are as in Query.
	Since  string
	Object object.Ref
	Limit  int
}

// Writes returns one page of API writes, the latest first.
func (c *Client) Writes(ctx context.Context, q WriteQuery) (*api.WritePage, error) {
	out := &api.WritePage{}
	return out, c.json(ctx, "writes", Query{Since: q.Since, Object: q.Object, Limit: q.Limit}.values(), out)
}

// Trace returns one trace. A unique beginning of the ID, of at least 8 digits, is enough.
func (c *Client) Trace(ctx context.Context, id string) (*Trace, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	doc, err := c.get(ctx, "traces/"+id, nil)
	if err != nil {
		return nil, err
	}
	t, err := decode(doc)
	if err != nil {
		return nil, c.strange(err)
	}
	return t, nil
}

// HTML returns one file with the page's view of a trace.
func (c *Client) HTML(ctx context.Context, id string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return c.body(ctx, "traces/"+id, url.Values{"format": {"html"}}, "text/html")
}

// Causes returns the edges of a trace.
func (c *Client) Causes(ctx context.Context, id string) ([]api.Cause, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	var out api.Causes
	err := c.json(ctx, "traces/"+id+"/causes", nil, &out)
	return out.Causes, err
}

// Why returns the answer for an object of a trace.
func (c *Client) Why(ctx context.Context, id string, o object.Ref) (*api.Why, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	var out api.Why
	if err := c.json(ctx, "traces/"+id+"/why", objectValues(o), &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// checkID keeps invalid IDs out of URLs.
func checkID(id string) error {
	if id == "" || strings.Trim(id, "0123456789abcdefABCDEF") != "" {
		return fmt.Errorf("%.80q is no trace ID: it has 32 hexadecimal digits, and the first 8 are usually enough", id)
	}
	return nil
}

// values are the parameters of a list.
func (q Query) values() url.Values {
	v := objectValues(q.Object)
	set(v, "since", q.Since)
	set(v, "until", q.Until)
	set(v, "after", q.After)
	set(v, "where", q.Where)
	names := make([]string, len(q.Outcomes))
	for i, o := range q.Outcomes {
		names[i] = string(o)
	}
	set(v, "outcome", strings.Join(names, ","))
	set(v, "category", strings.Join(q.Categories, ","))
	if q.Open {
		v.Set("open", "true")
	}
	if q.Worse {
		v.Set("worse", "true")
	}
	if q.SlowerThan > 0 {
		v.Set("slowerThan", q.SlowerThan.String())
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

func objectValues(o object.Ref) url.Values {
	v := url.Values{}
	set(v, "group", o.Group)
	set(v, "kind", o.Kind.Kind)
	set(v, "namespace", o.Namespace)
	set(v, "name", o.Name)
	set(v, "uid", string(o.UID))
	return v
}

func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}
