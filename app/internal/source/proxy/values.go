// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// remember learns the values of a single object from a response in JSON, since the refusal of a later change may
// quote them. Most commands read an object before they change it.
func (p *Proxy) remember(x *exchange, code int, header http.Header, body []byte) {
	memory := p.opts.Refusals.Memory
	if memory == nil || code < 200 || code > 299 || x.call.subresource != "" || message.Confidential(x.call.Resource) {
		return
	}
	text, err := plain(header, body)
	if err != nil || bytes.HasPrefix(text, protobufMagic) {
		return
	}
	var obj mask.Object
	if json.Unmarshal(text, &obj) != nil {
		return
	}
	meta, _ := obj["metadata"].(mask.Object)
	of := func(field string) string {
		value, _ := meta[field].(string)
		return value
	}
	named, _ := obj["kind"].(string)
	version, err := strconv.ParseUint(of("resourceVersion"), 10, 64)
	if err != nil || of("uid") == "" || of("name") == "" || named == "Table" {
		return
	}
	memory.Put(&mask.Version{
		Ref: &object.Ref{
			Kind:      object.Kind{Group: x.call.Group, Version: x.call.Version, Kind: named},
			Namespace: of("namespace"), Name: of("name"), UID: types.UID(of("uid")),
		},
		ResourceVersion: version, Owners: owners(meta), Words: memory.Collect(obj, !kind.BuiltIn(x.call.Group)),
	})
}

func owners(meta mask.Object) []object.Owner {
	var out []object.Owner
	all, _ := meta["ownerReferences"].([]any)
	for _, each := range all {
		ref, _ := each.(mask.Object)
		uid, _ := ref["uid"].(string)
		controller, _ := ref["controller"].(bool)
		version, _ := ref["apiVersion"].(string)
		named, _ := ref["kind"].(string)
		gv, _ := schema.ParseGroupVersion(version)
		out = append(out, object.Owner{
			Kind: object.Kind{Group: gv.Group, Version: gv.Version, Kind: named},
			UID:  types.UID(uid), Controller: controller,
		})
	}
	return out
}
