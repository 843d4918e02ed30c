// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// Stages with a response.
const (
	stageComplete = "ResponseComplete"
	stagePanic    = "Panic"
)

// maxItems limits the writes of one deletecollection.
const maxItems = 10_000

// writes returns the writes of an event, or the reason for none. The writes share no memory with
// the text that was read.
func (s *Source) writes(e *event) ([]*observation.Write, reason) {
	if why := s.passes(e); why != taken {
		return nil, why
	}
	w := s.write(e)
	if s.Anonymous && w.Failed() {
		return nil, passedUnauthenticated
	}
	sent, answer := e.bodies(s)
	if sent != nil && sent.Dry {
		return nil, passedDryRun
	}
	if w.Verb == request.DeleteCollection && !w.Failed() {
		return collection(w, answer)
	}
	w.name(e, sent, answer)
	if why := w.tell(e, sent, answer); why != taken {
		return nil, why
	}
	if w.Kind.Kind == "" && w.UID == "" {
		return nil, passedUnknownKind
	}
	if w.UID == "" && w.Name == "" && w.Controller == "" && !w.Failed() {
		return nil, passedUnnamed // a refused write may have no name
	}
	return []*observation.Write{w.Write}, taken
}

// passes checks the fields that every audit level has. It returns the reason to skip the event, or
// taken.
func (s *Source) passes(e *event) reason {
	switch e.verb {
	case request.Create, request.Update, request.Patch, request.Delete, request.DeleteCollection:
	default:
		return passedRead
	}
	switch {
	case e.stage != stageComplete && e.stage != stagePanic:
		return passedStage
	case e.ref == nil || e.ref.Resource == "":
		return passedNotStored // not a request for an API object
	case s.excludes(e.ref.GroupResource()):
		return passedExcluded
	case !request.Stores(e.ref.GroupResource(), e.ref.subresource):
		return passedNotStored
	case e.status.code == http.StatusUnauthorized:
		return passedNotStored // there is no authenticated user
	case asksDry(e.uri):
		return passedDryRun
	}
	return taken
}

// bodies decodes the logged bodies. It learns kinds from them, but not from refused requests, which
// may contain anything.
func (e *event) bodies(s *Source) (sent, answer *request.Body) {
	sent, answer = body(e.request), body(e.answer)
	if e.status.code >= http.StatusBadRequest || e.stage == stagePanic {
		return sent, answer
	}
	for _, b := range []*request.Body{sent, answer} {
		if b != nil && b.Kind != "" && e.ref.subresource == "" && e.verb != request.Delete &&
			e.verb != request.DeleteCollection &&
			b.Metadata.Name+b.Metadata.GenerateName != "" &&
			b.APIVersion == e.ref.GroupVersion().String() &&
			s.kindOf(e.ref.GroupVersionResource) == "" {
			s.kinds.Learn(e.ref.GroupVersionResource, strings.Clone(object.Bound(b.Kind)))
		}
	}
	return sent, answer
}

// body decodes a body. It returns nil if there is none or it is not an object, such as a JSON
// patch.
func body(text []byte) *request.Body {
	if len(text) == 0 {
		return nil
	}
	b, err := request.Decode(text)
	if err != nil {
		return nil
	}
	return b
}

// draft is a partly filled write.
type draft struct{ *observation.Write }

// write returns a write with the fields that every audit level has.
func (s *Source) write(e *event) draft {
	r := e.ref
	w := &observation.Write{
		Ref: object.Ref{
			Kind: object.Kind{
				Group:   object.Bound(r.Group),
				Version: object.Bound(r.Version),
				Kind:    s.kindOf(r.GroupVersionResource),
			},
			Namespace: object.Bound(r.namespace),
			Name:      object.Bound(r.name),
		},
		Resource: object.Bound(r.Resource), Subresource: object.Bound(r.subresource), Verb: e.verb,
		Start: e.received, End: e.answered, Code: int(e.status.code),
		AuditID: object.Bound(e.auditID), UserAgent: object.Bound(e.agent), User: object.Bound(e.user),
		Manager: manager(e.uri, e.agent), TraceParent: traceParent(e.context), Server: traceParent(e.server),
	}
	if e.impersonated != "" {
		w.User, w.Impersonator = object.Bound(e.impersonated), w.User
	}
	if request.Binds(r.GroupResource(), r.subresource) || request.Evicts(r.GroupResource(), r.subresource) {
		if r.Resource == "bindings" {
			w.Resource, w.Subresource = "pods", "binding"
		}
		w.Kind.Kind = "Pod"
	}
	if request.Evicts(r.GroupResource(), r.subresource) {
		w.Verb = request.Delete
	}
	if e.stage == stagePanic {
		w.Code = http.StatusInternalServerError
	}
	if w.Code == 0 {
		w.Code = http.StatusOK
	}
	if w.Verb == request.Create && w.Resource == "pods" && w.Subresource == "" && !w.Failed() {
		w.Mutators = e.imageMutators()
	}
	if w.End.Before(w.Start) {
		w.End = w.Start
	}
	w.Unauthenticated = s.Unauthenticated
	if s.Anonymous {
		w.User, w.Impersonator, w.UserAgent = "", "", ""
	}
	if w.Failed() {
		s.Refusals.Refused(w, &e.status.Body, &request.Sent{
			Body: e.request, Unlogged: len(e.request) == 0, Mutations: e.mutations, Patches: e.patches,
		})
		if e.stage == stagePanic {
			w.Reason = cmp.Or(w.Reason, "Panic")
		}
	}
	return draft{w}
}

// traceParent returns s if it is a valid traceparent, otherwise "".
func traceParent(s string) string {
	if s == "" {
		return ""
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": s})
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	return strings.Clone(object.Bound(s))
}

// name sets the object's name and, for a failed create, the controller.
func (w draft) name(e *event, sent, answer *request.Body) {
	if d := e.status.Details; d != nil && w.Name == "" && w.Failed() {
		w.Name = object.Bound(d.Name)
	}
	for _, b := range []*request.Body{answer, sent} {
		if b != nil && w.Name == "" && b.Kind != "Status" && !b.IsList() {
			w.Name = object.Bound(b.Metadata.Name)
		}
	}
	if w.Failed() && w.Verb == request.Create && sent != nil && w.Subresource == "" && sent.Metadata.Controller != nil {
		w.Controller = uid(sent.Metadata.Controller.UID)
	}
}

// tell sets the object's UID, the stored version and the precondition. It returns the reason to
// skip the write, or taken.
func (w draft) tell(e *event, sent, answer *request.Body) reason {
	creates := w.Verb == request.Create && w.Subresource == ""
	if !creates {
		w.UID = uid(e.ref.uid) // the API server refuses another UID
		if w.UID == "" && sent != nil && w.Verb == request.Patch {
			w.UID = uid(sent.Metadata.UID)
		}
	}
	if w.Verb == request.Update || w.Verb == request.Patch {
		w.Precondition = request.Version(e.ref.resourceVersion)
		if w.Precondition == 0 && sent != nil {
			w.Precondition = sent.Metadata.Version()
		}
	}
	if w.Failed() {
		return taken
	}
	if answer == nil {
		return taken
	}
	if answer.Kind == "Status" {
		if d := answer.Details; d != nil && d.UID != "" {
			w.UID = uid(d.UID)
		}
		w.Removes = w.Verb == request.Delete && w.Subresource == ""
		return taken
	}
	objects := answer.Objects()
	if len(objects) != 1 {
		return taken
	}
	m := &objects[0].Metadata
	if m.UID != "" {
		w.UID = uid(m.UID)
	}
	w.Generation = m.Generation
	switch {
	case m.Deleting && !m.Remains(), w.Verb == request.Delete && !m.Remains():
		w.Removes = true
	default:
		w.ResourceVersion = m.Version()
		if w.ResourceVersion != 0 && w.ResourceVersion == w.Precondition {
			return passedUnchanged
		}
	}
	return taken
}

// collection returns a write for each object that a deletecollection removed. The response has the
// objects before the deletion.
func collection(w draft, answer *request.Body) ([]*observation.Write, reason) {
	if answer == nil || len(answer.Items) == 0 {
		return nil, passedUnnamed
	}
	var out []*observation.Write
	for i := range answer.Items[:min(len(answer.Items), maxItems)] {
		m := &answer.Items[i].Metadata
		if m.UID == "" {
			continue
		}
		each := *w.Write
		each.Name, each.UID = object.Bound(m.Name), uid(m.UID)
		each.Namespace = object.Bound(cmp.Or(m.Namespace, w.Namespace))
		out = append(out, &each)
	}
	if len(out) == 0 {
		return nil, passedUnnamed
	}
	return out, taken
}

// uid limits the length of a UID, which clients may choose.
func uid(u types.UID) types.UID { return types.UID(object.Bound(string(u))) }

// asksDry reports whether the request's URI asks for a dry run.
func asksDry(uri string) bool {
	if !strings.Contains(uri, "dryRun") {
		return false
	}
	_, query, _ := strings.Cut(uri, "?")
	values, _ := url.ParseQuery(query) // malformed pairs are dropped, as in the API server
	for _, v := range values["dryRun"] {
		if v == metav1.DryRunAll {
			return true
		}
	}
	return false
}

// maxManager is the API server's limit for the name of a field manager.
const maxManager = 128

// manager returns the field manager of a write: the fieldManager parameter or, as in the API
// server, the first part of the user agent.
func manager(uri, agent string) string {
	if strings.Contains(uri, "fieldManager") {
		_, query, _ := strings.Cut(uri, "?")
		values, _ := url.ParseQuery(query)
		if m := values.Get("fieldManager"); m != "" {
			return object.Bound(m)
		}
	}
	name, _, _ := strings.Cut(agent, "/")
	plain := true
	for _, r := range name {
		plain = plain && unicode.IsPrint(r)
	}
	if plain && len(name) <= maxManager {
		return strings.Clone(name)
	}
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxManager {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
