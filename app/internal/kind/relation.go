// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Relation is a field with the name of another object.
type Relation struct {
	Type object.RelationType
	// Path is the path of the field; "[]" stands for each item of a list. The field is a name in To,
	// or a reference with name and perhaps kind, group or apiVersion, and namespace.
	Path string
	// To is the kind of a plain name, and of a reference without kind. It may be nil for a reference.
	To *Kind
}

// ConfigMapsOf returns the references to ConfigMaps in the Pod template at path, or in a Pod if it is "".
func ConfigMapsOf(path string) []Relation {
	return slices.DeleteFunc(configRelations(path), func(r Relation) bool { return r.To != &ConfigMap })
}

// configRelations are the ConfigMaps and Secrets of the Pod template at path.
func configRelations(path string) []Relation {
	spec := strings.TrimPrefix(path+".spec.", ".")
	var out []Relation
	for _, containers := range []string{"containers[].", "initContainers[]."} {
		out = append(out,
			Relation{object.Config, spec + containers + "envFrom[].configMapRef.name", &ConfigMap},
			Relation{object.Config, spec + containers + "envFrom[].secretRef.name", &Secret},
			Relation{object.Config, spec + containers + "env[].valueFrom.configMapKeyRef.name", &ConfigMap},
			Relation{object.Config, spec + containers + "env[].valueFrom.secretKeyRef.name", &Secret},
		)
	}
	return append(out,
		Relation{object.Config, spec + "volumes[].configMap.name", &ConfigMap},
		Relation{object.Config, spec + "volumes[].secret.secretName", &Secret},
		Relation{object.Config, spec + "volumes[].projected.sources[].configMap.name", &ConfigMap},
		Relation{object.Config, spec + "volumes[].projected.sources[].secret.name", &Secret},
	)
}

// ClaimsOf returns the common name of the claims that a StatefulSet makes for a template: the names
// of the claims without their ordinals.
func ClaimsOf(namespace, template, set string) object.Name {
	return object.Name{
		Kind: PersistentVolumeClaim.Kind.Kind, Namespace: namespace, Name: template + "-" + set + anyOrdinal,
	}
}

// anyOrdinal stands for the ordinal in the names of a StatefulSet's claims. No object has such a
// name.
const anyOrdinal = "-*"

// ClaimPattern returns the name as in ClaimsOf for a claim of a StatefulSet, and whether there is
// one.
func ClaimPattern(name object.Name) (object.Name, bool) {
	i := strings.LastIndexByte(name.Name, '-')
	if i < 0 || !isNumber(name.Name[i+1:]) {
		return object.Name{}, false
	}
	name.Name = name.Name[:i] + anyOrdinal
	return name, true
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
