// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read returns an object of testdata, recorded from a real API server.
func read(tb testing.TB, name string) *unstructured.Unstructured {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return u
}

// parse decodes an object from JSON.
func parse(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return u
}

func golden(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if strings.Contains(string(text), "topsecret") || strings.Contains(string(text), "dG9wc2Vj") {
		t.Errorf("%s: the observation contains a confidential value", name)
	}
	path := filepath.Join("testdata", name+".out")
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

func TestNormalizeRealObjects(t *testing.T) {
	for _, name := range []string{"deployment", "pod", "job", "node"} {
		u := read(t, name)
		before := u.DeepCopy()
		golden(t, name, normalizer.Object(u))
		if diff := cmp.Diff(before, u); diff != "" {
			t.Errorf("%s: Object wrote to the object: -want +got:\n%s", name, diff)
		}
	}
}

func TestNormalizeMetadata(t *testing.T) {
	data, err := os.ReadFile("testdata/secret.json")
	if err != nil {
		t.Fatal(err)
	}
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	golden(t, "secret", normalizer.Metadata(object.Kind{Version: "v1", Kind: "Secret"}, &m))
}

func TestEventIsTheSameOfBothAPIs(t *testing.T) {
	got, core := normalizer.Event(read(t, "event")), normalizer.Event(read(t, "coreevent"))
	if diff := cmp.Diff(core, got); diff != "" {
		t.Errorf("-core +events.k8s.io:\n%s", diff)
	}
	golden(t, "event", got)
}

func TestRepeatedEvent(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
	}{
		"DeprecatedFields": {
			reason: "the kubelet counts in fields of core/v1, which events.k8s.io/v1 calls deprecated",
			text: `{"apiVersion":"events.k8s.io/v1","kind":"Event",
				"metadata":{"uid":"e","resourceVersion":"7"},"reason":"BackOff",
				"deprecatedSource":{"component":"kubelet"},"deprecatedCount":3,
				"deprecatedFirstTimestamp":"2026-05-04T03:02:01Z","deprecatedLastTimestamp":"2026-05-04T03:02:09Z"}`,
		},
		"Core": {
			reason: "the same Event as core/v1",
			text: `{"apiVersion":"v1","kind":"Event","metadata":{"uid":"e","resourceVersion":"7"},"reason":"BackOff",
				"source":{"component":"kubelet"},"count":3,
				"firstTimestamp":"2026-05-04T03:02:01Z","lastTimestamp":"2026-05-04T03:02:09Z"}`,
		},
		"Series": {
			reason: "the new API counts in a series",
			text: `{"apiVersion":"events.k8s.io/v1","kind":"Event",
				"metadata":{"uid":"e","resourceVersion":"7"},"reason":"BackOff",
				"reportingController":"kubelet","deprecatedFirstTimestamp":"2026-05-04T03:02:01Z",
				"series":{"count":3,"lastObservedTime":"2026-05-04T03:02:09.654321Z"}}`,
		},
	}
	want := &observation.Event{
		UID: "e", ResourceVersion: 7, Reason: "BackOff", Component: "kubelet", Count: 3,
		First: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Last: time.Date(2026, 5, 4, 3, 2, 9, 0, time.UTC),
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, normalizer.Event(parse(t, tc.text))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRelatedEvent: both APIs have the related object. Its Event keeps the field manager of its creation.
func TestRelatedEvent(t *testing.T) {
	const (
		meta = `"metadata":{"uid":"e","resourceVersion":"7",` +
			`"managedFields":[{"manager":"databases"},{"manager":"kubectl"}]},`
		data = `{"apiVersion":"example.com/v1","kind":"Volume","namespace":"default","name":"data","uid":"u"}`
	)
	volume := object.Ref{
		Kind:      object.Kind{Group: "example.com", Version: "v1", Kind: "Volume"},
		Namespace: "default", Name: "data", UID: "u",
	}
	for _, api := range []string{"v1", "events.k8s.io/v1"} {
		e := normalizer.Event(parse(t, `{"apiVersion":"`+api+`","kind":"Event",`+meta+`"related":`+data+`}`))
		if e.Related == nil || *e.Related != volume || e.Manager != "databases" {
			t.Errorf("%s: got %v by %q", api, e.Related, e.Manager)
		}
		if e := normalizer.Event(
			parse(t, `{"apiVersion":"`+api+`","kind":"Event",`+meta+`"reason":"A"}`),
		); e.Manager != "" {
			t.Errorf("%s: an Event without a related object keeps its field manager %q", api, e.Manager)
		}
	}
}

func TestNoIdentityNoState(t *testing.T) {
	for reason, text := range map[string]string{
		"a metric has no UID": `{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics",` +
			`"metadata":{"name":"a","resourceVersion":"1"}}`,
		"an aggregated API may have other versions": `{"apiVersion":"x/v1","kind":"X",` +
			`"metadata":{"uid":"u","resourceVersion":"a-7"}}`,
		"metadata may have any type": `{"apiVersion":"x/v1","kind":"X","metadata":[1]}`,
	} {
		if s := normalizer.Object(parse(t, text)); s != nil {
			t.Errorf("%s: want nil, got %v", reason, s)
		}
	}
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	conditions := strings.Repeat(`{"type":"A","message":"`+long+`"},`, 1000)
	s := normalizer.Object(
		parse(t, `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1","name":"`+long+`"},
		"status":{"conditions":[`+strings.TrimSuffix(conditions, ",")+`]}}`),
	)
	if len(s.Name) > 1024 || len(s.Conditions) > maxItems || len(s.Conditions[0].Message) > 1024 {
		t.Errorf("a name of %d bytes, %d conditions, a message of %d bytes", len(s.Name), len(s.Conditions), len(
			s.Conditions[0].Message,
		))
	}
}

func BenchmarkNormalize(b *testing.B) {
	for _, name := range []string{"pod", "deployment"} {
		u := read(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				normalizer.Object(u)
			}
		})
	}
}

// normalizer has a fixed key, so that digests are the same in each run.
var normalizer = New([KeySize]byte{1}, Settings{})
