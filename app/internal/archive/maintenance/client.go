// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// infoTimeout bounds the first request to a server.
const infoTimeout = 5 * time.Second

// Client are the operations of a running server.
type Client struct {
	http    *http.Client
	cluster string
}

var _ Operations = (*Client)(nil)

// Dial returns the operations of the server that runs on the directory of a cluster, or ErrNoServer.
func Dial(ctx context.Context, dir string) (*Client, error) {
	c := &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
	}}}
	first, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	var about info
	if err := c.call(first, http.MethodGet, pathInfo, nil, &about); err != nil {
		_ = c.Close()
		if errors.Is(first.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("the server on %s does not answer: %w", datadir.Socket(dir), err)
		}
		return nil, err
	}
	c.cluster = about.Cluster
	return c, nil
}

// Cluster implements Operations.
func (c *Client) Cluster() string { return c.cluster }

// Close closes the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// remote is an error of the server.
type remote struct {
	problem
	of error
}

func (r *remote) Error() string { return r.Message }

func (r *remote) Unwrap() error { return r.of }

func newRemote(data []byte) error {
	r := &remote{}
	if err := json.Unmarshal(data, &r.problem); err != nil || r.Message == "" {
		return fmt.Errorf("the server's response is not of this version of lifeline: %.200q", data)
	}
	r.of = kinds[r.Kind]
	return r
}

// send sends a request and returns its response. A failed one is an error.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://lifeline"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // its URL means nothing to a user
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the server has ended: %w", err)
		}
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	return nil, newRemote(data)
}

// call sends a request and reads its result.
func (c *Client) call(ctx context.Context, method, path string, body []byte, result any) error {
	res, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(result); err != nil {
		return fmt.Errorf("cannot read the server's response: %w", err)
	}
	return nil
}

func (c *Client) ask(ctx context.Context, path string, in request, result any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, body, result)
}

// stream copies a stream of the server to w.
func (c *Client) stream(ctx context.Context, path string, w io.Writer) (out Exported, err error) {
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the server has ended meanwhile: %w", err)
		}
		return out, err
	}
	if text := res.Trailer.Get(trailerProblem); text != "" {
		return out, newRemote([]byte(text))
	}
	if err := json.Unmarshal([]byte(res.Trailer.Get(trailerResult)), &out); err != nil {
		return out, fmt.Errorf("cannot read the server's result: %w", err)
	}
	return out, nil
}

// Export implements Operations.
func (c *Client) Export(ctx context.Context, f Filter, w io.Writer) (Exported, error) {
	q := url.Values{}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			q.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	q.Set("namespace", f.Namespace)
	q.Set("id", f.ID)
	return c.stream(ctx, pathTraces+"?"+q.Encode(), w)
}

// Copy implements Operations.
func (c *Client) Copy(ctx context.Context, w io.Writer) (Exported, error) {
	return c.stream(ctx, pathCopy, w)
}

// Import implements Operations.
func (c *Client) Import(ctx context.Context, line []byte) (out Imported, err error) {
	err = c.call(ctx, http.MethodPost, pathTraces, line, &out)
	return out, err
}

// Backup implements Operations.
func (c *Client) Backup(ctx context.Context, path string) (out Exported, err error) {
	err = c.ask(ctx, pathBackup, request{Path: path}, &out)
	return out, err
}

// Forget implements Operations.
func (c *Client) Forget(ctx context.Context, namespace string) (out Forgotten, err error) {
	err = c.ask(ctx, pathForget, request{Namespace: namespace}, &out)
	return out, err
}

// Pin implements Operations.
func (c *Client) Pin(ctx context.Context, id string, on bool) (out Pinned, err error) {
	err = c.ask(ctx, pathPin, request{Trace: id, On: on}, &out)
	return out, err
}
