// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMessagesAreCleaned: no source of a message keeps a confidential value.
func TestMessagesAreCleaned(t *testing.T) {
	const (
		secret = "cNrYhunter2"
		meta   = `"metadata":{"name":"n","namespace":"default","uid":"u","resourceVersion":"7"},`
		bad    = `"reason":"it is cNrYhunter2","message":"the token is cNrYhunter2"`
		ended  = `{"terminated":{"exitCode":1,"reason":"Error","message":"secret \"cNrYhunter2\" not found"}}`
	)
	for name, text := range map[string]string{
		"pod": `{"apiVersion":"v1","kind":"Pod",` + meta + `"spec":{"containers":[{"name":"a"},{"name":"b"}]},
			"status":{"phase":"Failed",` + bad + `,
			"conditions":[{"type":"Ready","status":"False",` + bad + `}],
			"containerStatuses":[{"name":"a","state":{"waiting":{` + bad + `}},"lastState":` + ended + `},
			{"name":"b","state":` + ended + `}]}}`,
		"job": `{"apiVersion":"batch/v1","kind":"Job",` + meta +
			`"status":{"conditions":[{"type":"Failed","status":"True",` + bad + `}]}}`,
		"custom": `{"apiVersion":"x/v1","kind":"X",` + meta +
			`"status":{"conditions":[{"type":"Stalled","status":"True",` + bad + `}]}}`,
		"event": `{"apiVersion":"v1","kind":"Event",` + meta + bad + `}`,
		"event, v1": `{"apiVersion":"events.k8s.io/v1","kind":"Event",` + meta +
			`"reason":"it is cNrYhunter2","note":"cNrYhunter2"}`,
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			var seen any = normalizer.Object(u)
			if u.GetKind() == "Event" {
				seen = normalizer.Event(u)
			}
			out, err := json.Marshal(seen)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(out), secret) || !strings.Contains(string(out), "(text withheld)") {
				t.Errorf("want the message withheld, got %s", out)
			}
		})
	}
}
