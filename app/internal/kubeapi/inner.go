// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// inner returns the request to a path of the API, within the namespace of a target. A verb is the one that the API
// server has checked; without one, the right follows from the path.
func (t target) inner(ctx context.Context, r *http.Request, verb, path string, q url.Values) *http.Request {
	if t.namespace != "" {
		ctx = inNamespace(ctx, t.namespace)
	}
	if verb != "" && !t.visible {
		ctx = under(ctx, verb)
	}
	out := r.Clone(ctx)
	out.URL = &url.URL{Path: path, RawQuery: q.Encode()}
	out.RequestURI = out.URL.RequestURI()
	out.Host = "localhost"
	return out
}

// ask answers a request with the JSON of the API.
func (h *handler) ask(r *http.Request, out any) *metav1.Status {
	var got captured
	h.api.ServeHTTP(&got, r)
	if got.code != 0 && got.code != http.StatusOK {
		return got.failure()
	}
	if err := json.Unmarshal(got.body.Bytes(), out); err != nil {
		return Failure(http.StatusInternalServerError, "cannot read the server's own answer: %v", err)
	}
	return nil
}

// captured is an answer in memory. The API bounds its length.
type captured struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (c *captured) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

func (c *captured) WriteHeader(code int) {
	if c.code == 0 {
		c.code = code
	}
}

func (c *captured) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.body.Write(b)
}

// failure returns an error of the API as Kubernetes writes it.
func (c *captured) failure() *metav1.Status {
	var problem api.Problem
	if err := json.Unmarshal(c.body.Bytes(), &problem); err != nil || problem.Error.Message == "" {
		return Failure(c.code, "%s", strings.ToLower(http.StatusText(c.code)))
	}
	return Failure(c.code, "%s", problem.Error.Message)
}
