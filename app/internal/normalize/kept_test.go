// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestKeptMessages keeps the output of an application only with the setting, also in a recording.
func TestKeptMessages(t *testing.T) {
	const output = "panic: cannot open\n  /etc/app:\tno such file " // not a known sentence
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","uid":"u","resourceVersion":"7"},
		"spec":{"containers":[{"name":"app","image":"app:1"}]},"status":{
		"phase":"Running","conditions":[{"type":"Custom","status":"False","reason":"Odd",
		"message":` + quoted(output) + `}],"containerStatuses":[{"name":"app","lastState":{},"state":{"terminated":{
		"exitCode":1,"reason":"Error","message":` + quoted(output) + `}}}]}}`
	event := `{"apiVersion":"v1","kind":"Event","metadata":{"uid":"e","resourceVersion":"8"},"reason":"Unhealthy",
		"message":` + quoted("Readiness probe failed: "+output) + `}`
	for mode, keep := range map[mask.Mode]bool{mask.Strict: false, mask.Keep: true} {
		n := New([KeySize]byte{1}, Settings{Messages: mask.Modes{Default: mode}})
		o := observation.Observation{State: n.Object(parse(t, pod)), Event: n.Event(parse(t, event))}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var again observation.Observation
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		again.Clean()
		const want = "panic: cannot open /etc/app: no such file"
		for what, text := range map[string]string{
			"the condition": again.State.Conditions[0].Message,
			"the container": again.State.Pod.Containers[0].State.Message,
			"the Event":     again.Event.Note,
		} {
			if got := strings.Contains(text, want); got != keep {
				t.Errorf("messages are kept: %t; %s has %q", keep, what, text)
			}
		}
	}
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
