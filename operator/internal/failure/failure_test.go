// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const canary = "cNrYhunter2"

func TestText(t *testing.T) {
	secret := apierrors.NewInvalid(
		schema.GroupKind{Kind: "Secret"},
		"s",
		field.ErrorList{field.Invalid(field.NewPath("data"), canary, "no")},
	)
	pod := apierrors.NewInvalid(
		schema.GroupKind{Kind: "Pod"},
		"p",
		field.ErrorList{field.Invalid(field.NewPath("spec", "env"), canary, "no")},
	)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"own":     {errors.New("the database is down"), "the database is down"},
		"refused": {gone, `pods "p" not found`},
		"wrapped": {
			fmt.Errorf("cannot write: %w", pod),
			`cannot write: Pod "p" is invalid: spec.env: Invalid value (text withheld)`,
		},
		"secret": {fmt.Errorf("cannot write: %w", secret), `cannot write: Secret "s" is invalid: data: Invalid ` +
			`value (text withheld)`},
		"joined": {
			errors.Join(secret, pod, gone),
			`Secret "s" is invalid: data: Invalid value (text withheld)` + "\n" + `Pod "p" is invalid: spec.env: ` +
				`Invalid value (text withheld)` + "\n" +
				`pods "p" not found`,
		},
		"aggregated": {
			utilerrors.NewAggregate([]error{secret, fmt.Errorf("b: %w", pod)}),
			`[Secret "s" is invalid: data: Invalid value (text withheld), b: Pod "p" is invalid: spec.env: Invalid ` +
				`value (text withheld)]`,
		},
		"hidden": {hiding{secret}, `Secret "s" is invalid: data: Invalid value (text withheld)`},
		"repeated": {
			errors.Join(fmt.Errorf("first: %w", pod), fmt.Errorf("second: %w", pod)),
			`first: Pod "p" is invalid: spec.env: Invalid value (text withheld)` + "\n" +
				`second: Pod "p" is invalid: spec.env: Invalid value (text withheld)`,
		},
		"not wrapped": {fmt.Errorf("cannot apply: %v", secret), //nolint:errorlint // a common mistake
			`cannot apply: Secret "s" is invalid: (text withheld)`},
		"field": {
			field.ErrorList{field.Invalid(field.NewPath("spec", "env"), canary, "bad")}.ToAggregate(),
			"spec.env: Invalid value: (text withheld)",
		},
		"short": {
			fmt.Errorf("cannot apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Message: "a"}}),
			"(text withheld)",
		},
		"empty": {&apierrors.StatusError{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Text(c.err)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(got, canary) {
				t.Error("the canary is in the text")
			}
		})
	}
}

// hiding wraps an error and quotes its text.
type hiding struct{ error }

func (h hiding) Error() string { return fmt.Sprintf("%q", h.error.Error()) }
func (h hiding) Unwrap() error { return h.error }
