// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strings"
	"testing"
)

func TestRefusal(t *testing.T) {
	invalid := Cause{
		Reason:  "FieldValueInvalid",
		Field:   "spec.template.spec.containers[0].env[0].value",
		Message: `Invalid value: "` + canary + `": must be a string`,
	}
	many := make([]Cause, 100)
	for i := range many {
		many[i] = Cause{
			Reason:  "FieldValueRequired",
			Field:   "spec." + strings.Repeat("a", i+1),
			Message: "Required value",
		}
	}
	cases := map[string]struct {
		status Status
		want   string
	}{
		"nothing": {Status{}, ""},
		"secret":  {Status{Resource: "secrets", Message: `secrets "s" not found`}, Withheld},
		"configmap": {
			Status{
				Kind:    "ConfigMap",
				Message: canary,
				Causes:  []Cause{{Reason: "FieldValueInvalid", Field: "patch", Message: canary}},
			},
			"invalid fields: patch: Invalid value " + Withheld,
		},
		"secret, fields": {
			Status{
				Resource: "secrets",
				Message:  `Secret "s" is invalid: data[k]: Invalid value: "` + canary + `"`,
				Causes: []Cause{
					{Reason: "FieldValueInvalid", Field: "data[k]", Message: `Invalid value: "` + canary + `": x`},
					{Reason: "FieldValueForbidden", Field: "data", Message: "Forbidden: field is immutable when " +
						"`immutable` is set"},
					{Reason: "DisruptionBudget", Message: "Cannot evict a pod that was never created"},
				},
			},
			`Secret "s" is invalid: data[…]: Invalid value, data: Forbidden: field is immutable when ` +
				"`immutable` is set " + Withheld,
		},
		"limit": {
			Status{
				Resource: "pods", Message: `Pod "web" is invalid: x`,
				Causes: []Cause{{
					Reason: "FieldValueInvalid", Field: "spec.containers[0].resources.requests",
					Message: `Invalid value: "500m": must be less than or equal to cpu limit of 200m`,
				}},
			},
			`Pod "web" is invalid: spec.containers[0].resources.requests: Invalid value: "500m": must be less than ` +
				`or equal to cpu limit of 200m`,
		},
		"struct": {
			Status{
				Message: `Job.batch "x" is invalid: ` + canary,
				Causes: []Cause{{
					Reason: "FieldValueInvalid", Field: "spec.template",
					Message: `Invalid value: core.PodTemplateSpec{Env:[]core.EnvVar{{Value: ` +
						`"` + canary + `"}}}: field ` +
						`is immutable`,
				}},
			},
			`Job.batch "x" is invalid: spec.template: Invalid value: field is immutable ` + Withheld,
		},
		"own words": {
			Status{
				Message: `admission webhook "v.example.com" denied the request: x`,
				Causes:  []Cause{{Reason: "FieldValueInvalid", Field: "spec.x", Message: canary + " is short"}},
			},
			`admission webhook "v.example.com" denied the request: invalid fields: spec.x: Invalid value ` + Withheld,
		},
		"not found": {Status{Resource: "pods", Message: `pods "web" not found`}, `pods "web" not found`},
		"invalid": {
			Status{Message: `Deployment.apps "web" is invalid: ` + canary, Causes: []Cause{invalid}},
			`Deployment.apps "web" is invalid: spec.template.spec.containers[0].env[0].value: Invalid ` +
				`value ` + Withheld,
		},
		"hostile name": {
			Status{Message: `Deployment.apps "web ` + canary + `" is invalid: x`, Causes: []Cause{invalid}},
			`invalid fields: spec.template.spec.containers[0].env[0].value: Invalid value ` + Withheld,
		},
		"hostile field": {
			Status{
				Message: canary,
				Causes:  []Cause{{Reason: "FieldValueInvalid", Field: "spec " + canary, Message: canary}},
			},
			Withheld,
		},
		"immutable": {
			Status{
				Message: `Job.batch "x" is invalid: ` + canary,
				Causes: []Cause{
					{
						Reason:  "FieldValueInvalid",
						Field:   "spec.template",
						Message: `Invalid value: {"a":"` + canary + `"}: field is immutable`,
					},
				},
			},
			`Job.batch "x" is invalid: spec.template: Invalid value: field is immutable`,
		},
		"patch": {
			Status{
				Message: `"" is invalid: patch: Invalid value: "{` + canary + `}": ` + canary,
				Causes:  []Cause{{Reason: "FieldValueInvalid", Field: "patch", Message: canary}},
			},
			`invalid fields: patch: Invalid value ` + Withheld,
		},
		"conflicts": {
			Status{
				Message: "Apply failed with 2 conflicts: conflicts with \"kubectl\" using apps/v1:\n- .spec.a\n- " +
					".spec.b",
				Causes: []Cause{
					{
						Reason:  "FieldManagerConflict",
						Field:   ".spec.a",
						Message: `conflict with "kubectl" using apps/v1`,
					},
					{
						Reason:  "FieldManagerConflict",
						Field:   `.spec.b[="` + canary + `"]`,
						Message: `conflict with "helm" with subresource "scale" using apps/v1`,
					},
				},
			},
			`Apply failed: conflict with "kubectl" using apps/v1: .spec.a, conflict with "helm" with subresource ` +
				`"scale" using apps/v1: .spec.b[…]`,
		},
		"budget": {
			Status{
				Message: "Cannot evict pod as it would violate the pod's disruption budget.",
				Causes: []Cause{
					{
						Reason:  "DisruptionBudget",
						Message: "The disruption budget web needs 2 healthy pods and has 2 currently",
					},
				},
			},
			"Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 " +
				"healthy pods and has 2 currently",
		},
		"webhook, field": {
			Status{
				Message: `admission webhook "v.example.com" denied the request: Foo.example.com "x" is invalid: ` +
					`spec.y: Required value`,
				Causes: []Cause{{Reason: "FieldValueRequired", Field: "spec.y", Message: "Required value"}},
			},
			`admission webhook "v.example.com" denied the request: invalid fields: spec.y: Required value`,
		},
		"webhook, cause": {
			Status{
				Message: `admission webhook "v.example.com" denied the request: x`,
				Causes:  []Cause{{Reason: "Custom", Message: `pods "` + canary + `" not found`}},
			},
			`admission webhook "v.example.com" denied the request: ` + Withheld,
		},
		"server": {
			Status{
				Message: "an error on the server (\"x\") has prevented the request from succeeding",
				Causes:  []Cause{{Reason: "UnexpectedServerResponse", Message: `pods "` + canary + `" not found`}},
			},
			`an error on the server ("` + Withheld + `") has prevented the request from succeeding`,
		},
		"huge": {
			Status{
				Message: `Pod "x" is invalid: y`,
				Causes: []Cause{
					{Reason: "FieldValueRequired", Field: strings.Repeat("a[b].", 1<<20), Message: "Required value"},
				},
			},
			`Pod "x" is invalid: ` + Withheld,
		},
		"internal": {
			Status{Message: "Internal error occurred: " + canary, Causes: []Cause{{Message: canary}}},
			"Internal error occurred: " + Withheld,
		},
		"many": {
			Status{Message: `Pod "x" is invalid: y`, Causes: many},
			`Pod "x" is invalid: spec.a: Required value, spec.aa: Required value, spec.aaa: Required value, ` +
				`spec.aaaa: Required value, spec.aaaaa: Required value, spec.aaaaaa: Required value, ` +
				`spec.aaaaaaa: Required value, spec.aaaaaaaa: Required value ` + Withheld,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Refusal(c.status)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if strings.Contains(got, canary) {
				t.Error("the canary is in the output")
			}
			if again := Clean(got); again != got {
				t.Errorf("a second Clean changed it to %q", again)
			}
		})
	}
}

func TestConfidential(t *testing.T) {
	for _, kind := range []string{"secrets", "Secret", "configmaps", "ConfigMap", "SecretList"} {
		if !Confidential(kind) {
			t.Errorf("Confidential(%q) = false", kind)
		}
	}
	for _, kind := range []string{"", "pods", "ExternalSecret", "secretstores"} {
		if Confidential(kind) {
			t.Errorf("Confidential(%q) = true", kind)
		}
	}
}

// TestRefusalMasked: with the values of the refused object known, its refusal is shown.
func TestRefusalMasked(t *testing.T) {
	cases := map[string]struct {
		status Status
		want   string
	}{
		"policy": {
			Status{
				Resource: "deployments",
				Message: `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
					`request: the label team is missing, PASSWORD=` + canary,
			},
			`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ` +
				`“the label team is missing, PASSWORD=…”`,
		},
		"own words": {
			Status{
				Message: `admission webhook "v.example.com" denied the request: x`,
				Causes:  []Cause{{Reason: "FieldValueInvalid", Field: "spec.x", Message: canary + " is short"}},
			},
			`admission webhook "v.example.com" denied the request: invalid fields: spec.x: Invalid value: “… is short”`,
		},
		"shown field": {
			Status{
				Message: `CronJob.batch "x" is invalid: spec.schedule: Invalid value: "each day": it has no five ` +
					`fields`,
				Causes: []Cause{{
					Reason: "FieldValueInvalid", Field: "spec.schedule",
					Message: `Invalid value: "each day": it has no five fields`,
				}},
			},
			`CronJob.batch "x" is invalid: spec.schedule: Invalid value: "each day": “it has no five fields”`,
		},
		"Secret": {
			Status{
				Resource: "secrets",
				Message:  `admission webhook "v.example.com" denied the request: the key k is short`,
				Causes: []Cause{{
					Reason: "FieldValueInvalid", Field: "data[k]", Message: `Invalid value: "x": short`,
				}},
			},
			`admission webhook "v.example.com" denied the request: invalid fields: data[…]: Invalid value ` + Withheld,
		},
		"ConfigMap": {
			Status{Resource: "configmaps", Message: `admission webhook "v" denied the request: the key k is short`},
			Withheld,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cleaner := &Cleaner{Refused: masking, Shown: func(field string) bool { return field == "spec.schedule" }}
			if got := cleaner.Refusal(c.status); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
