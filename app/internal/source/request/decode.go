// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/jsonwalk"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Decode decodes a JSON body. It ignores members of unexpected types and decodes the rest. An error
// means invalid JSON.
//
// The Body shares no memory with text.
func Decode(text []byte) (*Body, error) {
	d := decoder{jsonwalk.New(text)}
	b := new(Body)
	if err := d.body(b, true); err != nil {
		return nil, fmt.Errorf("cannot read the body: %w", err)
	}
	return b, nil
}

// ReadStatus decodes a Status within another object, without a kind.
func ReadStatus(w jsonwalk.Walker, b *Body, code *int64) error {
	d := decoder{w}
	return d.Object(func(name []byte) error {
		switch string(name) {
		case "code":
			return d.Number(code)
		case "reason":
			return d.Text(&b.Reason)
		case "message":
			return d.Text(&b.Message)
		case "details":
			b.Details = new(Details)
			return d.details(b.Details, &b.Causes)
		}
		return d.Skip()
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Body) UnmarshalJSON(text []byte) error {
	read, err := Decode(text)
	if err != nil {
		return err
	}
	*b = *read
	return nil
}

// namespace is the only kind with finalizers in its spec.
const namespace = "Namespace"

// decoder decodes the parts of a body.
type decoder struct{ jsonwalk.Walker }

func (d decoder) uid(u *types.UID) error { return d.Text((*string)(u)) }

// body decodes a whole body or, if whole is false, one object of a list. It ignores lists within
// such an object.
func (d decoder) body(b *Body, whole bool) error {
	var reason, text string
	var about Details
	var causes []message.Cause
	dry, inner := false, false
	finalizers := 0
	err := d.Object(func(name []byte) error {
		switch string(name) {
		case "apiVersion":
			return d.Text(&b.APIVersion)
		case "kind":
			return d.Text(&b.Kind)
		case "metadata":
			return d.metadata(&b.Metadata)
		case "spec":
			if b.Kind == namespace || b.Kind == "" { // the kind may follow
				return d.finalizers(&finalizers)
			}
		case "items":
			if whole {
				return d.List(func() error { return d.item(b) })
			}
		case "rows":
			if whole {
				return d.List(func() error { return d.row(b) })
			}
		case "reason":
			return d.Text(&reason)
		case "message":
			return d.Text(&text)
		case "details":
			return d.details(&about, &causes)
		case "dryRun":
			return d.dry(&dry)
		case "deleteOptions":
			return d.Object(func(name []byte) error {
				if string(name) == "dryRun" {
					return d.dry(&inner)
				}
				return d.Skip()
			})
		}
		return d.Skip()
	})
	switch b.Kind {
	case "Status":
		b.Reason, b.Message, b.Causes = reason, text, causes
		if about != (Details{}) {
			b.Details = &about
		}
	case "Eviction":
		b.Dry = inner
	case "DeleteOptions":
		b.Dry = dry
	case namespace:
		if b.APIVersion == "v1" {
			b.Metadata.Finalizers += finalizers
		}
	case "": // clients may leave the kind out
		b.Dry = dry || inner
	}
	return err
}

// item decodes an element of a list. It drops elements without a name and UID: a body with only
// such elements would need hundreds of times its size in memory.
func (d decoder) item(b *Body) error {
	if !d.IsObject() {
		return d.Skip()
	}
	item := Body{APIVersion: b.APIVersion, Kind: strings.TrimSuffix(b.Kind, "List")}
	err := d.body(&item, false)
	if item.Metadata.Name != "" || item.Metadata.UID != "" {
		b.Items = append(b.Items, item)
	}
	return err
}

// row decodes the object of a Table's row.
func (d decoder) row(b *Body) error {
	return d.Object(func(name []byte) error {
		if string(name) == "object" {
			return d.item(b)
		}
		return d.Skip()
	})
}

func (d decoder) metadata(m *Metadata) error {
	return d.Object(func(name []byte) error {
		switch string(name) {
		case "name":
			return d.Text(&m.Name)
		case "generateName":
			return d.Text(&m.GenerateName)
		case "namespace":
			return d.Text(&m.Namespace)
		case "uid":
			return d.uid(&m.UID)
		case "resourceVersion":
			return d.Text(&m.ResourceVersion)
		case "generation":
			return d.Number(&m.Generation)
		case "deletionTimestamp":
			m.Deleting = d.IsText()
		case "deletionGracePeriodSeconds":
			return d.Number(&m.GraceSeconds)
		case "finalizers":
			return d.count(&m.Finalizers)
		case "ownerReferences":
			return d.List(func() error { return d.owner(m) })
		}
		return d.Skip()
	})
}

// finalizers counts the finalizers in a spec.
func (d decoder) finalizers(n *int) error {
	return d.Object(func(name []byte) error {
		if string(name) == "finalizers" {
			return d.count(n)
		}
		return d.Skip()
	})
}

func (d decoder) count(n *int) error {
	return d.List(func() error { *n++; return d.Skip() })
}

func (d decoder) owner(m *Metadata) error {
	var o object.Owner
	var version string
	err := d.Object(func(name []byte) error {
		switch string(name) {
		case "apiVersion":
			return d.Text(&version)
		case "kind":
			return d.Text(&o.Kind.Kind)
		case "name":
			return d.Text(&o.Name)
		case "uid":
			return d.uid(&o.UID)
		case "controller":
			return d.Truth(&o.Controller)
		}
		return d.Skip()
	})
	if o.Controller {
		o.Group, o.Version, _ = strings.Cut(version, "/")
		if o.Version == "" {
			o.Group, o.Version = "", o.Group
		}
		m.Controller = &o
	}
	return err
}

func (d decoder) details(about *Details, causes *[]message.Cause) error {
	return d.Object(func(name []byte) error {
		switch string(name) {
		case "name":
			return d.Text(&about.Name)
		case "group":
			return d.Text(&about.Group)
		case "kind":
			return d.Text(&about.Kind)
		case "uid":
			return d.uid(&about.UID)
		case "causes":
			return d.causes(causes)
		}
		return d.Skip()
	})
}

// maxCauses limits the causes of one Status.
const maxCauses = 64

// causes appends causes of a Status to the list, up to maxCauses.
func (d decoder) causes(to *[]message.Cause) error {
	return d.List(func() error {
		if len(*to) >= maxCauses {
			return d.Skip()
		}
		var c message.Cause
		err := d.Object(func(name []byte) error {
			switch string(name) {
			case "reason":
				return d.Text(&c.Reason)
			case "field":
				return d.Text(&c.Field)
			case "message":
				return d.Text(&c.Message)
			}
			return d.Skip()
		})
		if c != (message.Cause{}) {
			*to = append(*to, c)
		}
		return err
	})
}

func (d decoder) dry(all *bool) error {
	return d.List(func() error {
		var s string
		err := d.Text(&s)
		*all = *all || s == metav1.DryRunAll
		return err
	})
}
