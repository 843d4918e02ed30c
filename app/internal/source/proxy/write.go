// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// answerPatience limits the reading of the rest of a response that the command stopped reading.
const answerPatience = 2 * time.Second

// prepare prepares a write before it is sent: dry run, copy of the body, version, trace context.
func (p *Proxy) prepare(x *exchange, r *http.Request) {
	if x.call.verb == request.Delete || x.call.verb == request.DeleteCollection {
		x.dryRun = drySent(r)
	}
	if x.dryRun {
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		x.body = &capture{ReadCloser: r.Body, limit: maxWriteRequest, length: -1}
		r.Body = x.body
		x.body.ahead(r.ContentLength)
	}
	p.lookBefore(r.Context(), x)
	x.parent = p.carry(r.Header)
}

// answered inspects a response before it goes back to the command.
func (p *Proxy) answered(resp *http.Response) error {
	x := exchangeOf(resp.Request)
	end := p.opts.Now()
	if x.stop != nil && resp.StatusCode > 299 {
		// An HTTP/2 client that gets an error response stops sending its body without ending it. Do
		// not wait for the rest.
		x.stop()
	}
	var limit int
	switch {
	case x.call.write && !x.dryRun:
		limit = maxWriteAnswer
	case x.call.read && resp.StatusCode == http.StatusOK:
		limit = maxReadAnswer
	default:
		return nil
	}
	body := &capture{ReadCloser: resp.Body, limit: limit, length: resp.ContentLength}
	resp.Body = body
	header := resp.Header.Clone()
	if x.call.write {
		x.detach()
		body.drain = func(read func()) {
			defer time.AfterFunc(answerPatience, x.giveUp).Stop()
			read()
		}
	}
	body.done = func() {
		a := &request.Body{}
		if kept, whole := body.bytes(); whole {
			if got, err := decode(header, kept); err == nil {
				a = got
				p.remember(x, resp.StatusCode, header, kept)
			}
		}
		if x.call.write {
			p.record(x, resp.StatusCode, header, a, end)
		} else {
			x.up.versions.learn(x.call, a, x.start)
		}
	}
	return nil
}

// unanswered records a write whose result is unknown.
func (p *Proxy) unanswered(x *exchange, err error) {
	w := p.write(x, http.StatusBadGateway, http.Header{}, p.opts.Now())
	w.Reason, w.Message = "NoAnswer", message.Clean(err.Error())
	p.nameFailed(x, w, &request.Body{})
	p.emit(x, w, 0)
}

func (p *Proxy) record(x *exchange, code int, header http.Header, a *request.Body, end time.Time) {
	w := p.write(x, code, header, end)
	if w.Failed() {
		p.nameFailed(x, w, a)
		p.opts.Refusals.Refused(w, a, &request.Sent{Body: x.sentJSON()})
		p.emit(x, w, 0)
		return
	}
	if x.call.verb == request.DeleteCollection {
		p.recordEach(x, w, a)
		return
	}
	since := x.before.listed
	w.UID = x.before.uid
	switch {
	case a.Kind == "Status":
		if d := a.Details; d != nil && d.UID != "" {
			w.UID = d.UID
		}
	case a.Metadata.Name != "" || a.Kind == "Table" && len(a.Items) == 1:
		o := a.Objects()[0]
		x.up.versions.learn(x.call, a, end)
		rv := o.Metadata.Version()
		if p.nothing(x, w, &o, rv) {
			p.unchanged.Add(1)
			return
		}
		w.UID, w.ResourceVersion, w.Generation = o.Metadata.UID, rv, o.Metadata.Generation
		w.Name = first(w.Name, o.Metadata.Name)
		if rv > 0 {
			since = rv - 1
		}
	}
	if x.call.binds() || x.call.evicts() || x.call.subresource == "binding" {
		p.namePod(x, w)
	}
	p.emit(x, w, since)
}

// nothing reports whether a successful write stored nothing: the object already had this version.
func (p *Proxy) nothing(x *exchange, w *observation.Write, o *request.Body, rv uint64) bool {
	if rv == 0 || rv > x.before.highest || w.Code == http.StatusCreated {
		return false
	}
	switch x.call.verb {
	case request.Update, request.Patch, request.Apply:
		return true
	case request.Delete:
		return o.Metadata.Remains()
	}
	return false
}

// recordEach records a write for each object that a deletecollection removed. The response has the
// objects before the deletion.
func (p *Proxy) recordEach(x *exchange, w *observation.Write, a *request.Body) {
	for i, o := range a.Objects() {
		each := *w
		each.Name, each.UID = o.Metadata.Name, o.Metadata.UID
		each.Namespace = first(o.Metadata.Namespace, w.Namespace)
		if i > 0 {
			each.TraceParent = siblingOf(w.TraceParent, o.Metadata.UID)
		}
		p.emit(x, &each, x.before.listed)
	}
}

// siblingOf returns a traceparent with another span ID, derived from uid, in the same trace.
func siblingOf(parent string, uid types.UID) string {
	parts := strings.Split(parent, "-")
	if len(parts) != 4 {
		return parent
	}
	id, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return parent
	}
	parts[2] = span.DeriveID(id, parts[2], string(uid)).String()
	return strings.Join(parts, "-")
}

// write returns a Write with the fields that the request and the header give.
func (p *Proxy) write(x *exchange, code int, header http.Header, end time.Time) *observation.Write {
	c := x.call
	return &observation.Write{
		Ref: object.Ref{
			Kind:      object.Kind{Group: c.Group, Version: c.Version, Kind: p.kindOf(x)},
			Namespace: c.namespace, Name: c.name,
		},
		Resource: c.Resource, Subresource: c.subresource, Verb: c.verb,
		Start: x.start, End: end, Code: code,
		AuditID:     header.Get("Audit-Id"),
		UserAgent:   span.Bound(x.sent.Get("User-Agent")),
		TraceParent: x.parent,
	}
}

// nameFailed sets the name of an object that was not created.
func (p *Proxy) nameFailed(x *exchange, w *observation.Write, a *request.Body) {
	if w.Name == "" && a.Details != nil {
		w.Name = a.Details.Name
	}
	if w.Name != "" {
		return
	}
	if sent := x.request(); sent != nil {
		w.Name = sent.Metadata.Name
	}
}

// namePod makes the Pod the object of a binding or an eviction.
func (p *Proxy) namePod(x *exchange, w *observation.Write) {
	if x.call.binds() {
		w.Resource, w.Subresource = "pods", "binding"
		if sent := x.request(); sent != nil {
			w.Name = first(w.Name, sent.Metadata.Name)
		}
	}
	w.Kind.Kind = "Pod"
	w.ResourceVersion, w.Generation = 0, 0
}

// sentJSON returns the request's body as JSON; nil if it is protobuf or the copy is not whole.
func (x *exchange) sentJSON() []byte {
	if x.body == nil {
		return nil
	}
	kept, whole := x.body.bytes()
	if !whole || len(kept) == 0 {
		return nil
	}
	sent, err := plain(x.sent, kept)
	if err != nil || bytes.HasPrefix(sent, protobufMagic) {
		return nil
	}
	return sent
}

// request decodes the request's body; nil if that fails or the copy is not whole.
func (x *exchange) request() *request.Body {
	kept, whole := x.body.bytes()
	if !whole || len(kept) == 0 {
		return nil
	}
	sent, err := decode(x.sent, kept)
	if err != nil {
		return nil
	}
	return sent
}

func (p *Proxy) emit(x *exchange, w *observation.Write, since uint64) {
	p.writes.Add(1)
	p.opts.Emit(&observation.Observation{Seen: w.End, Source: observation.SourceRequest, Write: w})
	report := p.opts.Wrote
	if w.Failed() {
		report = p.opts.Refused
	}
	if report == nil {
		return
	}
	gvr := x.call.GroupVersionResource
	gvr.Resource = w.Resource
	report(Written{
		Upstream: x.up.name, Resource: gvr, Namespace: w.Namespace, Since: since, Write: w,
	})
}
