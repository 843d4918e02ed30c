// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conflicts are the fields with another owner and another value, from the error of a server-side apply.
func conflicts(err error) (out []metav1.StatusCause) {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			out = append(out, cause)
		}
	}
	return out
}

// remove deletes a field, which is named as in a conflict: .spec.template.spec.containers[name="x"].image.
func remove(in any, path string) error {
	switch at := in.(type) {
	case map[string]any:
		// Keys hold dots, too. The longest key that fits is the right one.
		key := ""
		for k := range at {
			rest, ok := strings.CutPrefix(path, "."+k)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(k) > len(key) {
				key = k
			}
		}
		if key == "" {
			break
		}
		path = path[1+len(key):]
		if path == "" {
			delete(at, key)
			return nil
		}
		return remove(at[key], path)
	case []any:
		for _, item := range at {
			fields, ok := item.(map[string]any)
			if !ok {
				continue
			}
			if rest, ok := selected(fields, path); ok && rest != "" {
				return remove(item, rest)
			}
		}
	}
	return fmt.Errorf("there is no field %s", path)
}

// selected returns the path behind a selector such as [name="x"] or [containerPort=1,protocol="TCP"], if the
// item has its values.
func selected(item map[string]any, path string) (rest string, ok bool) {
	keys, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok || !strings.HasPrefix(path, "[") {
		return "", false
	}
	return rest, !slices.ContainsFunc(strings.Split(keys, ","), func(pair string) bool {
		key, value, _ := strings.Cut(pair, "=")
		return fmt.Sprint(item[key]) != strings.Trim(value, `"`)
	})
}
