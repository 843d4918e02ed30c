// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestMessagesAreCleaned: no source of a message keeps a confidential value. It is known of the objects, and
// unknown of what the Events are about.
func TestMessagesAreCleaned(t *testing.T) {
	const (
		secret = "cNrYhunter2"
		meta   = `"metadata":{"name":"n","namespace":"default","uid":"u","resourceVersion":"7",` +
			`"annotations":{"example.com/a":"cNrYhunter2"}},`
		bad   = `"reason":"it is cNrYhunter2","message":"it uses cNrYhunter2 now"`
		ended = `{"terminated":{"exitCode":1,"reason":"Error","message":"secret \"cNrYhunter2\" not found"}}`
	)
	const masked, withheld = "it uses … now", "(text withheld)"
	for name, c := range map[string]struct{ object, want string }{
		"pod": {`{"apiVersion":"v1","kind":"Pod",` + meta + `"spec":{"containers":[{"name":"a"},{"name":"b"}]},
			"status":{"phase":"Failed",` + bad + `,
			"conditions":[{"type":"Ready","status":"False",` + bad + `}],
			"containerStatuses":[{"name":"a","state":{"waiting":{` + bad + `}},"lastState":` + ended + `},
			{"name":"b","state":` + ended + `}]}}`, masked},
		"program": {`{"apiVersion":"v1","kind":"Pod",` + meta + `"spec":{"containers":[{"name":"a"}]},
			"status":{"phase":"Running","containerStatuses":[{"name":"a","state":` + ended + `}]}}`, withheld},
		"job": {`{"apiVersion":"batch/v1","kind":"Job",` + meta +
			`"status":{"conditions":[{"type":"Failed","status":"True",` + bad + `}]}}`, masked},
		"custom": {`{"apiVersion":"x/v1","kind":"X",` + meta +
			`"status":{"conditions":[{"type":"Stalled","status":"True",` + bad + `}]}}`, masked},
		"custom, earlier version": {`{"apiVersion":"x/v1","kind":"X","metadata":{"name":"n","uid":"u","generation":2,` +
			`"resourceVersion":"7"},"status":{"observedGeneration":1,"conditions":[{"type":"Stalled",` +
			`"status":"True",` + bad + `}]}}`, withheld},
		"custom, program": {`{"apiVersion":"tekton.dev/v1","kind":"TaskRun",` + meta +
			`"status":{"conditions":[{"type":"Succeeded","status":"False",` + bad + `}]}}`, withheld},
		"event": {`{"apiVersion":"v1","kind":"Event",` + meta + bad + `}`, withheld},
		"event, v1": {`{"apiVersion":"events.k8s.io/v1","kind":"Event",` + meta +
			`"reason":"it is cNrYhunter2","note":"cNrYhunter2"}`, withheld},
	} {
		t.Run(name, func(t *testing.T) {
			n := New([KeySize]byte{1}, Settings{})
			u := parse(t, c.object)
			var seen any = n.Object(u)
			if u.GetKind() == "Event" {
				seen = n.Event(u)
			}
			out, err := json.Marshal(seen)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(out), secret) || !strings.Contains(string(out), c.want) {
				t.Errorf("want %q, got %s", c.want, out)
			}
		})
	}
}

// TestMessagesOfRelatives: the values of an object are masked in the messages of its owner, of its dependants
// and of the Events about them, also those of the version before.
func TestMessagesOfRelatives(t *testing.T) {
	const (
		owner = `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs","namespace":"n","uid":"rs",
			"resourceVersion":"%s","annotations":{"a":"%s"}},"status":{"conditions":[{"type":"ReplicaFailure",
			"status":"True","message":"` + quotes + `"}]}}`
		pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"p","resourceVersion":"8",
			"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"rs","controller":true}]},
			"spec":{"containers":[{"name":"a","env":[{"name":"A","value":"of-the-pod"}]}]},
			"status":{"message":"` + quotes + `"}}`
		event = `{"apiVersion":"v1","kind":"Event","metadata":{"uid":"%s","resourceVersion":"9"},
			"involvedObject":{"apiVersion":"v1","kind":"%s","uid":"%s"},"reason":"%s","message":"` + quotes + `"}`
	)
	n := New([KeySize]byte{1}, Settings{})
	object := func(format string, args ...any) *observation.State {
		return n.Object(parse(t, fmt.Sprintf(format, args...)))
	}
	note := func(kind, uid, reason string) string {
		return n.Event(parse(t, fmt.Sprintf(event, uid+reason, kind, uid, reason))).Note
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check("owner", object(owner, "6", "first-value").Conditions[0].Message, "“… second-value of-the-pod others”")
	check("pod", object(pod).Pod.Message, "“… second-value … others”")
	check("owner, later", object(owner, "10", "second-value").Conditions[0].Message, "“… … … others”")
	check("event", note("ReplicaSet", "rs", "FailedCreate"), "“… … … others”")
	check("event of a Pod", note("Pod", "p", "Failed"), "“… … … others”")
	check("probe", note("Pod", "p", "Unhealthy"), "(text withheld)")
	check("stranger", note("Pod", "q", "Failed"), "(text withheld)")
	check("Secret", note("Secret", "p", "Failed"), "(text withheld)")
	const (
		reader = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"r","namespace":"n","uid":"r",
			"resourceVersion":"%s"},"spec":{"containers":[{"name":"a","envFrom":[{"configMapRef":{"name":"m"}}]}]},
			"status":{"message":"` + quotes + `"}}`
		data = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"n","uid":"m",
			"resourceVersion":"9"},"data":{"a":"first-value"}}`
	)
	check("Pod without an owner", object(reader, "8").Pod.Message, "“"+quotes+"”")
	n.Content(kind.ConfigMap.Kind, parse(t, data))
	check("its ConfigMap is known", object(reader, "10").Pod.Message, "“… second-value of-the-pod others”")
	n.Forget("p")
	check("event after the end", note("Pod", "p", "Killed"), "“… … … others”")
}

// TestManyRelations: an object with more relations than are known may read further ConfigMaps.
func TestManyRelations(t *testing.T) {
	for number, want := range map[int]string{maxRelations - 1: "“" + quotes + "”", maxRelations: "(text withheld)"} {
		var from []string
		for i := range number {
			from = append(from, fmt.Sprintf(`{"configMapRef":{"name":"m%d"}}`, i))
		}
		n := New([KeySize]byte{1}, Settings{})
		s := n.Object(parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n",
			"uid":"web","resourceVersion":"7"},"spec":{"template":{"spec":{"containers":[{"name":"a",
			"envFrom":[`+strings.Join(from, ",")+`]}]}}},"status":{"conditions":[{"type":"Available","status":"False",
			"message":"`+quotes+`"}]}}`))
		if got := s.Conditions[0].Message; got != want {
			t.Errorf("%d ConfigMaps: got %q, want %q", number, got, want)
		}
	}
}

const quotes = "first-value second-value of-the-pod others"

// TestModes: the mode of a kind goes before that of its group, and before the default.
func TestModes(t *testing.T) {
	modes := mask.Modes{
		Default: mask.Strict, Groups: map[string]mask.Mode{"x": mask.Masked},
		Kinds: map[schema.GroupKind]mask.Mode{{Group: "x", Kind: "Y"}: mask.Keep},
	}
	for of, want := range map[string]string{
		`"apiVersion":"x/v1","kind":"X"`: "“it is … now”",
		`"apiVersion":"x/v1","kind":"Y"`: "“it is a-value now”",
		`"apiVersion":"z/v1","kind":"X"`: "(text withheld)",
	} {
		n := New([KeySize]byte{1}, Settings{Messages: modes})
		s := n.Object(parse(t, `{`+of+`,"metadata":{"name":"n","uid":"u","resourceVersion":"7",
			"annotations":{"a":"a-value"}},"status":{"conditions":[{"type":"Ready","message":"it is a-value now"}]}}`))
		if got := s.Conditions[0].Message; got != want {
			t.Errorf("%s: got %q, want %q", of, got, want)
		}
	}
}

// TestEarly: the message of a custom resource waits for the objects below it, that of a Pod for the ConfigMaps that it
// reads, and that of an Event for its object.
func TestEarly(t *testing.T) {
	const (
		event = `{"apiVersion":"v1","kind":"Event","metadata":{"uid":"e","resourceVersion":"9"},
			"involvedObject":{"apiVersion":"v1","kind":"Pod","uid":"p"},"reason":"Failed","message":"it uses a-value"}`
	)
	status := func(text string) string {
		return `"metadata":{"name":"n","uid":"u","resourceVersion":"7"},"status":{"conditions":[{"type":"Ready",` +
			`"message":"` + text + `"}]}`
	}
	for name, c := range map[string]struct {
		object string
		waits  bool
	}{
		"custom":   {`"apiVersion":"example.com/v1","kind":"X",` + status("it is so"), true},
		"known":    {`"apiVersion":"example.com/v1","kind":"X",` + status("OOMKilled"), false},
		"built-in": {`"apiVersion":"apps/v1","kind":"Deployment",` + status("it is so"), false},
		"reads": {
			`"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c",
				"envFrom":[{"configMapRef":{"name":"m"}}]}]},` + status("it is so"), true,
		},
		"program": {`"apiVersion":"tekton.dev/v1","kind":"TaskRun",` + status("it is so"), false},
	} {
		n := New([KeySize]byte{1}, Settings{})
		s, waits := n.Early(parse(t, `{`+c.object+`}`))
		if waits != c.waits || waits && s.Conditions[0].Message != "(text withheld)" {
			t.Errorf("%s: waits: %t, %+v", name, waits, s.Conditions)
		}
	}
	n := New([KeySize]byte{1}, Settings{})
	if e, waits := n.EarlyEvent(parse(t, event)); !waits || e.Note != "(text withheld)" {
		t.Errorf("got %q, waits: %t", e.Note, waits)
	}
	n.Object(parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"p","resourceVersion":"8",
		"annotations":{"a":"a-value"}}}`))
	if e, waits := n.EarlyEvent(parse(t, event)); waits || e.Note != "“it uses …”" {
		t.Errorf("got %q, waits: %t", e.Note, waits)
	}
}
