// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// TestRefused: the text of a refusal is shown if the refused object is known, without its values.
func TestRefused(t *testing.T) {
	const (
		policy  = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `
		said    = policy + `PASSWORD=hunter2xyz must come from a Secret`
		masked  = policy + `“PASSWORD=… must come from a Secret”`
		hidden  = policy + message.Withheld
		env     = `{"spec":{"containers":[{"env":[{"name":"PASSWORD","value":"hunter2xyz"}]}]}}`
		patched = `[{"op":"replace","path":"/spec/containers/0/env/0/value","value":"hunter2xyz"}]`
	)
	bird := message.Cause{
		Reason: "FieldValueInvalid", Field: "spec.song", Message: `Invalid value: "string": it sings loudly1`,
	}
	for name, c := range map[string]struct {
		write    observation.Write
		answer   Body
		sent     string
		refusals Refusals
		unlogged bool
		patches  []string
		mutated  int
		want     string
	}{
		"create": {write: observation.Write{Verb: Create}, answer: Body{Message: said}, sent: env, want: masked},
		"patch":  {write: observation.Write{Verb: Patch}, answer: Body{Message: said}, sent: env, want: masked},
		"JSON patch": {
			write: observation.Write{Verb: Patch}, answer: Body{Message: said}, sent: patched, want: masked,
		},
		"stored value": {write: observation.Write{Verb: Delete}, answer: Body{Message: said}, want: masked},
		"unknown object": {
			write: observation.Write{Verb: Patch, Ref: object.Ref{Name: "other"}}, answer: Body{Message: said},
			sent: env, want: hidden,
		},
		"damaged body": {write: observation.Write{Verb: Create}, answer: Body{Message: said}, sent: `{`, want: hidden},
		"level Metadata": {
			write: observation.Write{Verb: Create}, answer: Body{Message: said}, unlogged: true,
			want: hidden + observation.Unlogged,
		},
		"level Metadata, known sentence": {
			write: observation.Write{Verb: Create}, answer: Body{Message: `pods "web" not found`}, unlogged: true,
			want: `pods "web" not found`,
		},
		"mutated": {
			write: observation.Write{Verb: Create}, answer: Body{Message: policy + `the token hunter3xyz is old`},
			sent: env, mutated: 1, patches: []string{`[{"op":"add","path":"/x","value":{"a":["hunter3xyz"]}}]`},
			want: policy + `“the token … is old”`,
		},
		"mutated by an unknown patch": {
			write: observation.Write{Verb: Create}, answer: Body{Message: policy + `the token hunter3xyz is old`},
			sent: env, mutated: 1, want: hidden,
		},
		"an object with an owner": {
			write:  observation.Write{Verb: Patch, Ref: object.Ref{Name: "owned"}},
			answer: Body{Message: said}, sent: env, want: masked,
		},
		"Secret": {
			write: observation.Write{Verb: Create, Resource: "secrets"}, answer: Body{Message: said}, sent: env,
			want: message.Withheld,
		},
		"Secret in the details": {
			write: observation.Write{Verb: Create}, sent: env,
			answer: Body{Message: said, Details: &Details{Kind: "secrets"}},
			want:   message.Withheld,
		},
		"strict": {
			write: observation.Write{Verb: Create}, answer: Body{Message: said}, sent: env,
			refusals: Refusals{Messages: mask.Modes{Default: mask.Strict}}, want: hidden,
		},
		"keep": {
			write: observation.Write{Verb: Create}, answer: Body{Message: said}, sent: env,
			refusals: Refusals{Messages: mask.Modes{Default: mask.Keep}}, want: masked,
		},
		"terminal": {
			write: observation.Write{Verb: Patch, Ref: object.Ref{Name: "other"}}, answer: Body{Message: said},
			refusals: Refusals{Whole: true}, want: policy + "“PASSWORD=hunter2xyz must come from a Secret”",
		},
		"terminal, Secret": {
			write: observation.Write{Verb: Create, Resource: "secrets"}, answer: Body{Message: said}, sent: env,
			refusals: Refusals{Whole: true}, want: message.Withheld,
		},
		"the bad value in the words": {
			write: observation.Write{
				Verb: Create, Ref: object.Ref{Kind: object.Kind{Group: "example.com", Kind: "Bird"}},
			},
			answer: Body{
				Message: `Bird.example.com "b" is invalid: spec.song: Invalid value: "string": it sings loudly1`,
				Causes:  []message.Cause{bird},
			},
			sent: `{"metadata":{"name":"b"},"spec":{"song":"loudly1"}}`,
			want: `Bird.example.com "b" is invalid: spec.song: Invalid value: …: “it sings …”`,
		},
		"quantities": {
			write: observation.Write{Verb: Create, Ref: object.Ref{Kind: object.Kind{Kind: "Pod"}}},
			answer: Body{Message: `Pod "web" is invalid: spec.containers[0].resources.requests: Invalid value: ` +
				`"500m": must be less than or equal to cpu limit of 200m`},
			sent: `{}`,
			want: `Pod "web" is invalid: spec.containers[0].resources.requests: Invalid value: "500m": ` +
				`must be less than or equal to cpu limit of 200m`,
		},
		"shown value": {
			write: observation.Write{Verb: Create, Ref: object.Ref{Kind: object.Kind{Group: "batch", Kind: "CronJob"}}},
			answer: Body{Message: `CronJob.batch "x" is invalid: spec.schedule: Invalid value: "each day": expected ` +
				`exactly 5 fields, found 2`},
			sent: `{}`,
			want: `CronJob.batch "x" is invalid: spec.schedule: Invalid value: "each day": “expected exactly 5 ` +
				`fields, found 2”`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := c.refusals, c.write
			r.Memory = mask.NewMemory()
			if w.Name == "" {
				w.Name = "web"
			}
			stored := w.Ref
			stored.Name, stored.UID = "web", "u"
			var obj mask.Object
			if err := json.Unmarshal([]byte(env), &obj); err != nil {
				t.Fatal(err)
			}
			r.Memory.Put(&mask.Version{Ref: &stored, ResourceVersion: 1, Words: r.Memory.Collect(obj, false)})
			r.Memory.Put(&mask.Version{
				Ref: &object.Ref{Name: "owned", UID: "v"}, ResourceVersion: 1, Words: r.Memory.Collect(obj, false),
				Owners: []object.Owner{{UID: "w", Kind: object.Kind{Group: "example.com", Kind: "X"}}},
			})
			w.Code = http.StatusForbidden
			sent := Sent{Body: []byte(c.sent), Unlogged: c.unlogged, Mutations: c.mutated}
			for _, patch := range c.patches {
				sent.Patches = append(sent.Patches, []byte(patch))
			}
			r.Refused(&w, &c.answer, &sent)
			if w.Message != c.want {
				t.Errorf("got  %q\nwant %q", w.Message, c.want)
			}
			o := observation.Observation{Write: &w}
			if o.Clean(); w.Message != c.want {
				t.Errorf("a recording has %q", w.Message)
			}
		})
	}
}
