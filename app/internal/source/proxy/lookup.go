// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

const (
	// knownFor is how long a version that passed the proxy counts as current.
	knownFor = time.Second
	// askPatience limits a request of the proxy itself. On timeout the write continues.
	askPatience = 2 * time.Second

	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// lookBefore finds the latest version of a write's resource right before the write is sent. A watch
// from that version sees the write. A response whose version is not newer means that nothing was
// stored. Usually the command has just read the object; otherwise lookBefore lists the metadata of
// one object.
func (p *Proxy) lookBefore(ctx context.Context, x *exchange) {
	v := x.up.versions
	x.before = v.of(x.call)
	if x.call.verb == request.Create || x.start.Sub(x.before.at) < knownFor {
		return
	}
	path := x.call.collection() + "?limit=1"
	var list request.Body
	if err := p.ask(ctx, x, path, metadataList, &list); err != nil {
		return // for example no right to list: the engine then decides from its watches
	}
	v.learn(x.call, &list, x.start)
	x.before = v.of(x.call)
}

// kindOf returns the kind of a call's resource. For an unknown resource it asks the API server. It
// returns "" if that fails.
func (p *Proxy) kindOf(x *exchange) string {
	if kind := p.kinds.Of(x.call.GroupVersionResource); kind != "" {
		return kind
	}
	path := "/apis/" + x.call.Group + "/" + x.call.Version
	if x.call.Group == "" {
		path = "/api/" + x.call.Version
	}
	var list metav1.APIResourceList
	if err := p.ask(context.Background(), x, path, "application/json", &list); err != nil {
		return ""
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			p.kinds.Learn(x.call.GroupVersion().WithResource(r.Name), r.Kind)
		}
	}
	return p.kinds.Of(x.call.GroupVersionResource)
}

// ask sends a GET of the proxy itself with the command's user and credentials, and decodes the
// response.
func (p *Proxy) ask(ctx context.Context, x *exchange, path, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	//nolint:gosec // the server is the user's choice
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, x.up.target.String()+x.up.prefix+path, nil)
	if err != nil {
		return err
	}
	for name, values := range x.sent {
		if name == "Authorization" || name == "User-Agent" || strings.HasPrefix(name, "Impersonate-") {
			r.Header[name] = values
		}
	}
	r.Header.Set("Accept", accept)
	resp, err := x.up.plain.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxWriteAnswer)).Decode(into)
}

// collection returns the path of the collection of the call's object.
func (c call) collection() string {
	path := "/apis/" + c.Group + "/" + c.Version
	if c.Group == "" {
		path = "/api/" + c.Version
	}
	if c.namespace != "" {
		path += "/namespaces/" + c.namespace
	}
	return path + "/" + c.Resource
}
