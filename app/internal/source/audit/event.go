// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/jsonwalk"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// Suffixes of the audit annotations that Lifeline's admission webhooks add: the request's trace
// context, and the context of the API server's own span. The API server adds the webhook's name as
// a prefix. Permission to create a webhook with such a name implies wider rights anyway.
const (
	requestContext = ".webhook.lifeline.dev/request"
	serverContext  = ".webhook.lifeline.dev/server"
)

// Prefixes of the audit annotations about mutating webhooks: whether one has changed the object, and its patch, which
// the level Metadata lacks.
const (
	mutation = "mutation.webhook.admission.k8s.io/"
	mutated  = "patch.webhook.admission.k8s.io/"
)

// event has the used fields of an audit.k8s.io/v1 Event.
type event struct {
	auditID, stage, uri, verb, agent string
	user, impersonated               string
	ref                              *objectRef
	status                           status
	received, answered               time.Time
	// context is the request's traceparent as seen by admission; "" means unknown.
	context string
	// server is the traceparent of the API server's own span, if that is in another trace.
	server string
	// request and answer are the logged bodies. They are slices of the text that was read, and
	// valid only as long as it is.
	request, answer []byte
	// mutations and patches are those of request.Sent.
	mutations int
	patches   [][]byte
	// mutators are the configurations of webhooks that have changed the object, and harmless those whose patches are
	// known and name no image.
	mutators, harmless []string
}

// objectRef identifies the object of the request.
type objectRef struct {
	schema.GroupVersionResource
	subresource, namespace, name string
	uid                          types.UID
	resourceVersion              string
}

// secret reports whether the bodies are confidential.
func (r *objectRef) secret() bool { return r.Group == "" && r.Resource == "secrets" }

// status is the responseStatus: code, reason, message and details.
type status struct {
	code int64
	request.Body
}

// errShape is the error for JSON that is not an audit event.
var errShape = errors.New("it is not an Event of audit.k8s.io/v1")

// decode decodes one event. An error means that text is not an audit event.
func decode(text []byte) (*event, error) {
	d := decoder{jsonwalk.New(text)}
	e, err := d.event()
	if err == nil && !d.Ended() {
		err = errShape
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read an audit event: %w", err)
	}
	return e, nil
}

// decodeList decodes a batch and calls visit for each event in order, with nil for an invalid
// element. An error means that text is not a batch; visit may have been called before.
func decodeList(text []byte, visit func(*event)) error {
	d := decoder{jsonwalk.New(text)}
	if !d.IsObject() {
		return errors.New("cannot read an audit batch: it is not a JSON object")
	}
	var version, kind string
	err := d.Object(func(name []byte) error {
		switch string(name) {
		case "apiVersion":
			return d.Text(&version)
		case "kind":
			return d.Text(&kind)
		case "items":
			return d.List(func() error {
				if !d.IsObject() {
					visit(nil)
					return d.Skip()
				}
				e, err := d.event()
				switch {
				case err == nil:
					visit(e)
				case errors.Is(err, errShape):
					visit(nil)
				default:
					return err
				}
				return nil
			})
		}
		return d.Skip()
	})
	if err == nil && (version != "audit.k8s.io/v1" || kind != "EventList") {
		err = fmt.Errorf("it is %.80q of %.80q, not an EventList of audit.k8s.io/v1", kind, version)
	} else if err == nil && !d.Ended() {
		err = errors.New("it has more text after its end")
	}
	if err != nil {
		return fmt.Errorf("cannot read an audit batch: %w", err)
	}
	return nil
}

// decoder decodes the parts of an event.
type decoder struct{ jsonwalk.Walker }

func (d decoder) event() (*event, error) {
	e := new(event)
	shape := d.IsObject()
	err := d.Object(func(name []byte) (err error) {
		switch string(name) {
		case "auditID":
			return d.Text(&e.auditID)
		case "stage":
			return d.Text(&e.stage)
		case "requestURI":
			return d.Text(&e.uri)
		case "verb":
			return d.Text(&e.verb)
		case "userAgent":
			return d.Text(&e.agent)
		case "user":
			return d.user(&e.user)
		case "impersonatedUser":
			return d.user(&e.impersonated)
		case "annotations":
			return d.annotations(e)
		case "objectRef":
			return d.ref(e)
		case "responseStatus":
			return request.ReadStatus(d.Walker, &e.status.Body, &e.status.code)
		case "requestObject":
			e.request, err = d.Raw()
			return err
		case "responseObject":
			e.answer, err = d.Raw()
			return err
		case "requestReceivedTimestamp":
			return d.time(&e.received, &shape)
		case "stageTimestamp":
			return d.time(&e.answered, &shape)
		}
		return d.Skip()
	})
	if e.ref != nil && e.ref.secret() {
		e.request, e.answer = nil, nil
	}
	if err == nil && (!shape || e.stage == "" || e.verb == "") {
		err = errShape
	}
	return e, err
}

// annotations reads the known annotations and skips others.
func (d decoder) annotations(e *event) error {
	return d.Object(func(key []byte) error {
		switch {
		case bytes.HasSuffix(key, []byte(requestContext)):
			return d.Text(&e.context)
		case bytes.HasSuffix(key, []byte(serverContext)):
			return d.Text(&e.server)
		case bytes.HasPrefix(key, []byte(mutation)):
			return d.mutation(e, func(by mutating) {
				if by.Mutated {
					e.mutations++
					e.mutators = append(e.mutators, by.Configuration)
				}
			})
		case bytes.HasPrefix(key, []byte(mutated)):
			return d.mutation(e, func(by mutating) {
				if e.patches = append(e.patches, by.Patch); !bytes.Contains(by.Patch, []byte("image")) {
					e.harmless = append(e.harmless, by.Configuration)
				}
			})
		}
		return d.Skip()
	})
}

// mutating is an annotation about a mutating webhook.
type mutating struct {
	Configuration string          `json:"configuration"`
	Mutated       bool            `json:"mutated"`
	Patch         json.RawMessage `json:"patch"`
}

// maxMutators is the maximum number of Write.Mutators.
const maxMutators = 4

// imageMutators returns the configurations that may have changed an image. One of them may have several webhooks, of
// which each patch is known or none is.
func (e *event) imageMutators() []string {
	count := func(all []string, name string) (n int) {
		for _, one := range all {
			if one == name {
				n++
			}
		}
		return n
	}
	var out []string
	for _, name := range e.mutators {
		bound := strings.Clone(object.Bound(name))
		if name != "" && count(e.harmless, name) < count(e.mutators, name) && !slices.Contains(out, bound) &&
			len(out) < maxMutators {
			out = append(out, bound)
		}
	}
	return out
}

// mutation reads an annotation about a mutating webhook. One that is no JSON counts as an unknown change.
func (d decoder) mutation(e *event, read func(mutating)) error {
	var text string
	if err := d.Text(&text); err != nil {
		return err
	}
	var by mutating
	if json.Unmarshal([]byte(text), &by) == nil {
		read(by)
	} else {
		e.mutations++
	}
	return nil
}

func (d decoder) user(name *string) error {
	return d.Object(func(member []byte) error {
		if string(member) == "username" {
			return d.Text(name)
		}
		return d.Skip()
	})
}

func (d decoder) ref(e *event) error {
	if !d.IsObject() {
		return d.Skip()
	}
	r := new(objectRef)
	e.ref = r
	return d.Object(func(name []byte) error {
		switch string(name) {
		case "apiGroup":
			return d.Text(&r.Group)
		case "apiVersion":
			return d.Text(&r.Version)
		case "resource":
			return d.Text(&r.Resource)
		case "subresource":
			return d.Text(&r.subresource)
		case "namespace":
			return d.Text(&r.namespace)
		case "name":
			return d.Text(&r.name)
		case "uid":
			return d.Text((*string)(&r.uid))
		case "resourceVersion":
			return d.Text(&r.resourceVersion)
		}
		return d.Skip()
	})
}

// time decodes a timestamp. An invalid one sets good to false, which makes the event invalid.
func (d decoder) time(t *time.Time, good *bool) error {
	var text string
	err := d.Text(&text)
	at, bad := time.Parse(time.RFC3339Nano, text)
	*t, *good = at.UTC(), *good && bad == nil
	return err
}
