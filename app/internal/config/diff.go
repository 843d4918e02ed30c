// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// reloadable are the fields and sections that a running server can reload.
var reloadable = []string{
	"log.level", "sampling", "retention", "otlp.outbox", "webhook.suppliers", "webhook.supplierGroups",
	"health", "api.audit", "regressions",
}

// Diff returns the paths of the fields in which two configurations differ, in the order of the
// documentation. reload has those that a running server can apply, restart the others. Equivalent
// values (1h and 60m, no list and an empty one) do not differ.
func Diff(old, now *ServerConfiguration) (reload, restart []string) {
	for _, path := range changed(old, now) {
		if isReloadable(path) {
			reload = append(reload, path)
		} else {
			restart = append(restart, path)
		}
	}
	return reload, restart
}

func isReloadable(path string) bool {
	path = strings.ReplaceAll(path, "[]", "")
	return slices.ContainsFunc(reloadable, func(r string) bool { return path == r || strings.HasPrefix(path, r+".") })
}

// changed returns the paths of the fields that differ.
func changed(old, now *ServerConfiguration) []string {
	before := map[string]any{}
	each(nil, reflect.ValueOf(old).Elem(), func(path *field.Path, v reflect.Value) {
		before[path.String()] = v.Interface()
	})
	var out []string
	each(nil, reflect.ValueOf(now).Elem(), func(path *field.Path, v reflect.Value) {
		if !equality.Semantic.DeepEqual(before[path.String()], v.Interface()) {
			out = append(out, path.String())
		}
	})
	return out
}
