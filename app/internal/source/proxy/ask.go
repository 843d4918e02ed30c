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
	// knownFor is how long what passed by counts as the present state.
	knownFor = time.Second
	// askPatience bounds a question of the proxy's own: without an answer the
	// write goes on all the same.
	askPatience = 2 * time.Second

	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// lookBefore learns how far the resource of a write has come, right before it
// is sent: from there a watch sees it, and an answer that is not newer stored
// nothing. Usually the command has just read the object itself; if not, one
// list of one object's metadata tells.
func (p *Proxy) lookBefore(ctx context.Context, x *exchange) {
	v := x.up.versions
	x.before = v.of(x.call)
	if x.call.verb == request.Create || x.start.Sub(x.before.at) < knownFor {
		return
	}
	path := x.call.collection() + "?limit=1"
	var list request.Body
	if err := p.ask(ctx, x, path, metadataList, &list); err != nil {
		return // no right to list: the engine tells by what it watches
	}
	v.learn(x.call, &list, x.start)
	x.before = v.of(x.call)
}

// kindOf names the kind of a call's resource, and asks the API server if it is
// one that nobody has told of yet.
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

// ask sends a read of the proxy's own, as the same user as the command's.
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

// collection is the path of the collection that the call's object is in.
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
