// SPDX-License-Identifier: Apache-2.0

package span

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Write is one stored API write of a span.
type Write struct {
	// Of is the written object; nil for that of the span.
	Of *object.Ref `json:"of,omitempty"`
	// Verb is create, update or delete, or the request's. Part is the changed part: desired, metadata,
	// observed, bookkeeping or ownership. Each may be empty.
	Verb        string `json:"verb,omitempty"`
	Part        string `json:"part,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	// ResourceVersion and Generation are those of the stored version, and BasedOn is the
	// resourceVersion of the version before it; 0 if unknown. A creation has none before it.
	ResourceVersion int64 `json:"resourceVersion,omitempty"`
	BasedOn         int64 `json:"basedOn,omitempty"`
	Generation      int64 `json:"generation,omitempty"`
	// Actor is the component that wrote. User and AuditID are those of the request; empty if it was not
	// seen.
	Actor   string `json:"actor,omitempty"`
	User    string `json:"user,omitempty"`
	AuditID string `json:"auditID,omitempty"`
	// Start and End are the times of the request and its answer; both are the same moment if the
	// request was not seen. Source is the source of End.
	Start  time.Time  `json:"start,omitzero"`
	End    time.Time  `json:"end,omitzero"`
	Source TimeSource `json:"source,omitempty"`
	// Changes are the changed fields, in the order of their paths, without bookkeeping; at most
	// MaxChanges. MoreChanges is the number of further ones. Both are empty for a creation, and after a
	// write that was not observed.
	Changes     []FieldChange `json:"changes,omitempty"`
	MoreChanges int64         `json:"moreChanges,omitempty"`
}

// MaxChanges bounds the changed fields of a write.
const MaxChanges = 16

// FieldChange is the change of one field.
type FieldChange struct {
	// Path is like "spec.template.spec.containers[name=app].image".
	Path      string    `json:"path"`
	Operation Operation `json:"operation"`
	// From and To are the values before and after, on one line. Only some fields have them: see
	// docs/trace-model.md.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Operation is what happened to a field, in the words of a JSON patch.
type Operation string

// The operations.
const (
	FieldAdded    Operation = "add"
	FieldRemoved  Operation = "remove"
	FieldReplaced Operation = "replace"
)

// writes encodes the writes. It only reads *v while packing.
func (p *packer) writes(v *[]Write) {
	n := len(*v)
	p.len(&n)
	if !p.reading {
		for i := range *v {
			p.write(&(*v)[i])
		}
		return
	}
	for range n { // damaged data may name more than there are
		var w Write
		if p.write(&w); p.err != nil {
			return
		}
		*v = append(*v, w)
	}
}

func (p *packer) write(w *Write) {
	const hasOf, moment = 1, 2 // moment: the start is the end
	var flags byte
	if w.Of != nil {
		flags |= hasOf
	}
	if w.Start.Equal(w.End) {
		flags |= moment
	}
	if flags = p.byte(flags); flags&hasOf != 0 {
		if p.reading {
			w.Of = &object.Ref{}
		}
		p.object(w.Of)
	}
	for _, text := range []*string{&w.Verb, &w.Part, &w.Subresource, &w.Actor, &w.User, &w.AuditID} {
		p.text(text)
	}
	for _, number := range []*int64{&w.ResourceVersion, &w.BasedOn, &w.Generation, &w.MoreChanges} {
		p.int(number)
	}
	end := Time{w.End, w.Source}
	p.time(&end)
	start := end
	if flags&moment == 0 {
		start = Time{Time: w.Start}
		p.time(&start)
	}
	if p.reading {
		w.Start, w.End, w.Source = start.Time, end.Time, end.Source
	}
	n := len(w.Changes)
	p.len(&n)
	if p.reading && n > 0 {
		w.Changes = make([]FieldChange, n)
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		p.text(&c.Path)
		p.text((*string)(&c.Operation))
		p.text(&c.From)
		p.text(&c.To)
	}
}
