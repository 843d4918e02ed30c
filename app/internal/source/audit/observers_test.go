// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// readLog returns the observations of an audit log. Without bodies they are those at level Metadata.
func readLog(tb testing.TB, lines [][]byte, bodies bool) []*observation.Observation {
	tb.Helper()
	s := newSource(tb, newSink(), nil)
	var out []*observation.Observation
	for _, line := range lines {
		e, err := decode(line)
		if err != nil {
			tb.Fatal(err)
		}
		if !bodies {
			e.request, e.answer = nil, nil
		}
		writes, _ := s.writes(e)
		for _, w := range writes {
			out = append(out, &observation.Observation{Seen: w.End, Source: observation.SourceAudit, Write: w})
		}
	}
	return out
}

// account is one trace as an observer reports it: its identity and verb, and the writes in it.
type account struct {
	// ID, Verb and Outcome are the same for each observer.
	ID, Verb, Outcome string
	// Writes are OBJECT VERSION VERB, sorted.
	Writes []string
	kind   string
	// user is the user by the audit log, or "".
	user string
}

// accounts returns the traces of stored writes. A trace of refused writes alone is in the audit log
// only, and so is a write between two versions in the watch.
func accounts(all []*span.Trace, watched map[string]bool) []account {
	var out []account
	for _, t := range all {
		sum := store.Summarize(t, t.Root().End.Time)
		a := account{
			ID: t.ID.String(), Verb: sum.Verb, Outcome: string(t.Outcome), kind: sum.Object.Kind.Kind, user: sum.User,
		}
		for _, s := range t.Spans {
			for _, w := range store.WritesOf(s) {
				if key := fmt.Sprintf("%s %d", w.Object.UID, w.ResourceVersion); watched[key] {
					a.Writes = append(a.Writes, key+" "+w.Verb)
				}
			}
		}
		slices.Sort(a.Writes)
		a.Writes = slices.Compact(a.Writes)
		if len(a.Writes) > 0 {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b account) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// versionsIn are the versions and removals that a watch reports.
func versionsIn(seen []*observation.Observation) map[string]bool {
	out := map[string]bool{}
	for _, o := range seen {
		switch {
		case o.State != nil && !o.Baseline:
			out[fmt.Sprintf("%s %d", o.State.UID, o.State.ResourceVersion)] = true
		case o.Gone != nil:
			out[fmt.Sprintf("%s %d", o.Gone.UID, o.Gone.ResourceVersion)] = true
		}
	}
	return out
}

// agree compares the accounts by watch, by audit at Metadata and at RequestResponse, and returns the
// last one. A user may be unknown at Metadata, but not another one.
func agree(t *testing.T, seen []*observation.Observation, log [][]byte) []account {
	t.Helper()
	watched := versionsIn(seen)
	watch := accounts(traces(seen), watched)
	metadata := accounts(traces(slices.Concat(seen, readLog(t, log, false))), watched)
	response := accounts(traces(slices.Concat(seen, readLog(t, log, true))), watched)
	ignored := cmpopts.IgnoreUnexported(account{})
	for name, got := range map[string][]account{"Metadata": metadata, "RequestResponse": response} {
		if diff := gocmp.Diff(watch, got, ignored); diff != "" {
			t.Errorf("-by watch +by audit at %s:\n%s", name, diff)
		}
	}
	if len(metadata) != len(response) {
		return response // reported above
	}
	unknown := 0
	for i, a := range response {
		if by := metadata[i].user; by == "" && a.user != "" {
			unknown++
		} else if by != a.user {
			t.Errorf("trace %s is of %s by audit at RequestResponse, of %s at Metadata", a.ID, a.user, by)
		}
	}
	t.Logf("%d traces of stored writes, %d of them without a user at Metadata only", len(response), unknown)
	return response
}

// TestObserversAgree: the traces of stored writes have the same IDs, verbs, outcomes and writes for
// each observer.
func TestObserversAgree(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			seen, _ := recorded(t, level)
			for _, a := range agree(t, seen, logOf(t, level)) {
				// The policy leaves out Secrets. Only a response has the name of a new Pod.
				unknown := a.kind == "Secret" || a.kind == "Pod" && level != "response"
				if a.Verb == "" || a.user == "" && !unknown {
					t.Errorf("trace %s of a %s has verb %q and user %q", a.ID, a.kind, a.Verb, a.user)
				}
			}
		})
	}
}

// play is a watch and an audit log, written by hand.
type play struct {
	t     *testing.T
	known *normalize.Normalizer
	seen  []*observation.Observation
	log   [][]byte
}

func newPlay(t *testing.T) *play {
	t.Helper()
	return &play{t: t, known: normalize.New([normalize.KeySize]byte{}, normalize.Settings{})}
}

// when returns the time of a resourceVersion.
func when(version int) time.Time { return start.Add(time.Duration(version) * 100 * time.Millisecond) }

// stored observes a version of an object, in JSON.
func (p *play) stored(version int, text string) {
	p.t.Helper()
	var u unstructured.Unstructured
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		p.t.Fatal(err)
	}
	p.seen = append(p.seen, &observation.Observation{
		Seen: when(version), Source: observation.SourceWatch, State: p.known.Object(&u),
	})
}

// gone observes the removal of the object of the last version.
func (p *play) gone(version int) {
	last := p.seen[len(p.seen)-1].State
	p.seen = append(p.seen, &observation.Observation{
		Seen: when(version), Source: observation.SourceWatch,
		Gone: &observation.Gone{Ref: last.Ref, ResourceVersion: uint64(version)},
	})
}

// request logs the request of the last version. parts are members of the event.
func (p *play) request(version int, parts ...string) {
	p.log = append(p.log, []byte(told(append([]string{
		"auditID", fmt.Sprintf(`"audit-%d"`, version),
		"requestReceivedTimestamp", when(version).Add(-20 * time.Millisecond).Format(`"2006-01-02T15:04:05.000000Z"`),
		"stageTimestamp", when(version).Add(-time.Millisecond).Format(`"2006-01-02T15:04:05.000000Z"`),
	}, parts...)...)))
}

// TestDeletionOfANamespace: the response to the deletion has finalizers in its spec only. The
// Namespace remains, and the version of the deletion has the user of the request.
func TestDeletionOfANamespace(t *testing.T) {
	p := newPlay(t)
	space := func(version int, deleting, finalizers, phase string) string {
		return fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","uid":"u1",`+
			`"resourceVersion":"%d","creationTimestamp":%q%s},"spec":{%s},"status":{"phase":%q}}`,
			version, when(0).Format(time.RFC3339), deleting, finalizers, phase)
	}
	const kept = `"finalizers":["kubernetes"]`
	deleting := `,"deletionTimestamp":` + when(20).Format(`"2006-01-02T15:04:05Z"`)
	event := func(version int, text, verb, by, subresource string) {
		if text != "" {
			p.stored(version, text)
		}
		answer := cmp.Or(text, space(22, deleting, "", "Terminating")) // of a removal: the last version
		p.request(version, "verb", `"`+verb+`"`, "user", `{"username":"`+by+`"}`, "responseObject", answer,
			"requestURI", strings.TrimSuffix(`"/api/v1/namespaces/shop/`+subresource, "/")+`"`,
			"objectRef", `{"resource":"namespaces","name":"shop","apiVersion":"v1","subresource":"`+subresource+`"}`)
	}
	const controller = "system:serviceaccount:kube-system:namespace-controller"
	p.stored(1, space(1, "", kept, "Active"))
	p.seen[0].Baseline, p.seen[0].Listed = true, true
	event(20, space(20, deleting, kept, "Terminating"), "delete", "jane", "")
	event(22, space(22, deleting, kept, "Terminating"), "update", controller, "status")
	event(24, "", "update", controller, "finalize")
	p.gone(24)

	got := agree(t, p.seen, p.log)
	if len(got) != 1 || got[0].user != "jane" || got[0].Verb != "delete" || got[0].Outcome != "deleted" {
		t.Fatalf("got %+v; want the deletion by jane", got)
	}
	want := []string{"u1 20 delete", "u1 22 update", "u1 24 remove"}
	if diff := gocmp.Diff(want, got[0].Writes); diff != "" {
		t.Errorf("writes, -want +got:\n%s", diff)
	}
}

// TestApplyCreates: a server-side apply of a new object is a creation for each observer.
func TestApplyCreates(t *testing.T) {
	p := newPlay(t)
	web := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"shop",`+
		`"uid":"u1","resourceVersion":"10","creationTimestamp":%q,"managedFields":[{"manager":"kubectl",`+
		`"operation":"Apply","apiVersion":"v1","time":%[1]q,"fieldsType":"FieldsV1","fieldsV1":`+
		`{"f:data":{"f:a":{}}}}]},"data":{"a":"1"}}`, when(10).Truncate(time.Second).Format(time.RFC3339))
	p.stored(10, web)
	p.request(10, "verb", `"patch"`, "responseStatus", `{"metadata":{},"code":201}`, "responseObject", web,
		"requestURI", `"/api/v1/namespaces/shop/configmaps/web?fieldManager=kubectl&force=false"`,
		"objectRef", ref("configmaps", `,"name":"web"`))
	got := agree(t, p.seen, p.log)
	want := []account{{
		ID: got[0].ID, Verb: "create", Outcome: string(span.Converged), Writes: []string{"u1 10 create"},
		kind: "ConfigMap", user: "jane",
	}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(account{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, tr := range traces(slices.Concat(p.seen, readLog(t, p.log, true))) {
		for _, s := range tr.Spans {
			if s.IsWrite() && (s.Name != "create ConfigMap" || attr(s.Attributes, span.KeyVerb) != "create") {
				t.Errorf("the span %s has verb %s", s.Name, attr(s.Attributes, span.KeyVerb))
			}
		}
	}
}
