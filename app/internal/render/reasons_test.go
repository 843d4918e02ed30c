// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestReasons(t *testing.T) {
	const pull = `Failed to pull image "a/b:1": rpc error: code = NotFound desc = failed to resolve: not found`
	cases := map[string]struct {
		reason   string
		shown    []string
		text     string
		head     string
		repeated bool
	}{
		"New":   {reason: "a new cause stays whole", text: pull, head: pull},
		"Same":  {reason: "nothing is left of a repetition", shown: []string{pull}, text: pull, repeated: true},
		"Empty": {reason: "an empty text has no cause", shown: []string{"", pull}, text: ""},
		"Colon": {
			reason: "an empty text before it hides nothing",
			shown:  []string{""},
			text:   "Pod web: ",
			head:   "Pod web: ",
		},
		"Parent": {
			reason: "the part in front of the cause", shown: []string{pull}, repeated: true,
			text: "progress deadline exceeded: " + pull, head: "progress deadline exceeded",
		},
		"Sibling": {
			reason: "another Pod with the same cause", shown: []string{"Pod web-1: image a/b:1: " + pull},
			text: "Pod web-2: image a/b:1: " + pull, head: "Pod web-2", repeated: true,
		},
		"Short": {
			reason: "short ends say too little", shown: []string{"container a: exit code 1"},
			text: "container b: exit code 1", head: "container b: exit code 1",
		},
		"ShortWhole": {
			reason:   "a short text is its own cause",
			shown:    []string{"exit code 1"},
			text:     "exit code 1",
			repeated: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reasons{}
			for _, s := range tc.shown {
				r.show(s)
			}
			if head, repeated := r.repeats(tc.text); head != tc.head || repeated != tc.repeated {
				t.Errorf("%s: %q, %v, want %q, %v", tc.reason, head, repeated, tc.head, tc.repeated)
			}
		})
	}
}

// TestAutoscaleNote: the tree shows why an autoscaler scaled.
func TestAutoscaleNote(t *testing.T) {
	events := []span.Event{
		{Name: span.EventAutoscale, Attributes: []attribute.KeyValue{span.KeyMessage.String("cpu 250% of 50%")}},
		{Name: span.EventWrite},
	}
	want := []string{"autoscale: cpu 250% of 50%"}
	var got []string
	for _, note := range eventNotes(events, "", reasons{}, false) {
		got = append(got, note.text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
