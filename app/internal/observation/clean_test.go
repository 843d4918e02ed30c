// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// TestClean: quotes in messages stored by an older version are removed on reading.
func TestClean(t *testing.T) {
	const secret = "cNrYhunter2"
	text := "the password is " + secret
	state := func() *ContainerState { return &ContainerState{Waiting: true, Reason: text, Message: text} }
	containers := []Container{{Name: "web", State: state(), Last: state()}, {Name: "side"}}
	for name, o := range map[string]*Observation{
		"write": {Write: &Write{Resource: "deployments", Reason: text, Message: text}},
		"secret": {
			Write: &Write{
				Ref: object.Ref{Kind: object.Kind{Kind: "Secret"}}, Message: `secrets "` + secret + `" not found`,
			},
		},
		"event": {Event: &Event{Reason: text, Note: text}},
		"state": {State: &State{
			ProgressMessage: text, Conditions: []Condition{{Type: "Ready", Reason: text, Message: text}},
			Pod: &Pod{Reason: text, Message: text, Init: containers, Containers: containers},
		}},
		"gone": {Gone: &Gone{}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Clean()
			out, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(out), secret) {
				t.Errorf("it is still there: %s", out)
			}
		})
	}
}

// TestReaderCleans: a recording of an older version holds whole messages.
func TestReaderCleans(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{Cluster: "c"})
	if err != nil {
		t.Fatal(err)
	}
	note := &Event{
		UID: "e", ResourceVersion: 9, Regarding: object.Ref{Name: "web"}, Reason: "Failed",
		Note: "the password is cNrYhunter2", Time: start,
	}
	if err := errors.Join(w.Write(&Observation{Seen: start, Source: SourceWatch, Event: note}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file, "old.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if o.Event.Note != message.Withheld || o.Event.Reason != "Failed" {
		t.Errorf("got %s: %s", o.Event.Reason, o.Event.Note)
	}
}
