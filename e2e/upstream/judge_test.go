// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// ledger is what the audit log says.
type ledger struct {
	// desired are the writes to desired state, in the order of the log.
	desired []*audit.Write
	// all are all writes, by identity.
	all map[stored.Key]*audit.Write
	// marks are the updates of labels and annotations alone.
	marks map[stored.Key]bool
}

// read sorts the writes of a log. Those before since are known, but not to be in a trace.
func read(log []audit.Write, since time.Time) *ledger {
	l := &ledger{all: map[stored.Key]*audit.Write{}, marks: map[stored.Key]bool{}}
	last, going := map[string]stored.Content{}, map[string]bool{}
	for i := range log {
		w := &log[i]
		before, known := last[w.UID]
		now := stored.ContentOf(w)
		if now.OK && w.Subresource != "scale" {
			last[w.UID] = now
		}
		if l.all[stored.KeyOf(w)] == nil {
			l.all[stored.KeyOf(w)] = w
		}
		verb := stored.VerbOf(w)
		again := verb == "delete" && going[w.UID]
		going[w.UID] = going[w.UID] || verb == "delete"
		if again || w.UID == "" || w.Received.Before(since) || slices.Contains(stored.Unwatched, w.Resource) {
			continue
		}
		if verb != "update" || desires(w, before, now, known) {
			l.desired = append(l.desired, w)
			l.marks[stored.KeyOf(w)] = verb == "update" && now.OK && reflect.DeepEqual(before.Wish, now.Wish)
		}
	}
	return l
}

// seriesOf is the number of changes of one author before the next ones are a series.
const seriesOf = 4

// inSeries reports whether the same user changed labels or annotations of the object at least four times in
// the ten minutes before.
func (l *ledger) inSeries(w *audit.Write) bool {
	if !l.marks[stored.KeyOf(w)] {
		return false
	}
	n := 0
	for _, other := range l.desired {
		if other.UID == w.UID && other.User == w.User && l.marks[stored.KeyOf(other)] &&
			other.Received.Before(w.Received) && w.Received.Sub(other.Received) < 10*time.Minute {
			n++
		}
	}
	return n >= seriesOf
}

// parts are the subresources with desired state.
var parts = []string{"", "scale", "resize", "ephemeralcontainers"}

// desires reports whether an update changed the desired state, or labels and annotations by a client
// that is no controller.
func desires(w *audit.Write, before, now stored.Content, known bool) bool {
	switch {
	case w.Resource == "endpointslices" && controller(w.User):
		return false // it follows the Pods of its Service, whose change is over
	case !slices.Contains(parts, w.Subresource):
		return false
	case w.Subresource != "", now.Lost && !before.Lost:
		return true
	}
	return known && now.OK && (!reflect.DeepEqual(before.Wish, now.Wish) ||
		!controller(w.User) && !reflect.DeepEqual(before.Marks, now.Marks))
}

// controller reports whether the user is a component of Kubernetes.
func controller(user string) bool {
	return strings.HasPrefix(user, "system:serviceaccount:kube-system:") || strings.HasPrefix(user, "system:kube-") ||
		strings.HasPrefix(user, "system:node:") || user == "system:apiserver"
}

// describe names a write in a failure.
func describe(w *audit.Write) string {
	object := strings.TrimPrefix(w.Namespace+"/"+w.Name, "/")
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s %s %s at %s (uid %s, version %s, audit ID %s)", w.User, w.Verb, resource, object,
		w.Received.Format("15:04:05.000"), w.UID, w.ResourceVersion, w.AuditID)
}

// verdict is how one server did.
type verdict struct {
	// placed counts the desired writes in exactly one trace, of all.
	placed, all int
	// names counts the authors of traces: right, unknown and wrong.
	right, unknown, wrong int
	// series counts the writes of a series after its fourth (rule N4), which an amend span counts.
	series int
	// faults are sentences, by rule. Known ones are only counted.
	faults map[string][]string
	known  int
	server string
}

// The rules.
const (
	lost    = "a write is in no trace"
	twice   = "a write is in more than one trace"
	alone   = "a controller's trace has no cause and no link"
	author  = "a trace has a wrong author"
	differs = "observers differ"
)

func (v *verdict) fault(rule, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if isKnown(v.server, text) {
		v.known++
		return
	}
	v.faults[rule] = append(v.faults[rule], text)
}

// String lists the faults.
func (v *verdict) String() string {
	var b strings.Builder
	for _, rule := range slices.Sorted(maps.Keys(v.faults)) {
		fmt.Fprintf(&b, "%s (%d):\n", rule, len(v.faults[rule]))
		for _, f := range v.faults[rule] {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	return b.String()
}

// judge compares the traces of a server with the audit log.
func judge(server string, traces []*harness.Trace, l *ledger) *verdict {
	v := &verdict{server: server, faults: map[string][]string{}, all: len(l.desired)}
	in := map[stored.Key][]*harness.Trace{}
	for _, tr := range traces {
		for key := range writesOf(tr) {
			in[key] = append(in[key], tr)
		}
	}
	for _, w := range l.desired {
		switch found := in[stored.KeyOf(w)]; {
		case len(found) == 0 && l.inSeries(w):
			v.series++
		case len(found) == 0:
			v.fault(lost, "%s", describe(w))
		case len(found) == 1:
			v.placed++
		default:
			v.fault(twice, "%s: %s and %s", describe(w), nameOf(found[0]), nameOf(found[1]))
		}
	}
	for _, tr := range traces {
		v.root(tr, l)
	}
	return v
}

// nameOf names a trace in a failure.
func nameOf(tr *harness.Trace) string {
	root := tr.Spans[0]
	namespace := root.Attributes["k8s.object.namespace"]
	return fmt.Sprintf("trace %s (%s %s, %s)", tr.ID, root.Name, strings.TrimPrefix(namespace+"/"+root.Object(), "/"),
		root.Outcome())
}

// root checks the author of a trace, and whether a controller's trace says why.
func (v *verdict) root(tr *harness.Trace, l *ledger) {
	root := tr.Spans[0]
	w := first(tr, l)
	if w == nil {
		return // a refused write
	}
	user := root.Attributes["lifeline.actor.user"]
	component := root.Attributes["lifeline.actor.component"]
	switch {
	case user == w.User, user == "" && component != "" && wrote(component, w):
		v.right++
	case user == "" && component == "":
		v.unknown++
	default:
		v.wrong++
		v.fault(author, "%s: %q, but %s", nameOf(tr), cmp.Or(user, component), describe(w))
	}
	if controller(w.User) && root.Attributes["lifeline.heals"] == "" && !slices.ContainsFunc(tr.Spans, linked) {
		v.fault(alone, "%s: %s", nameOf(tr), describe(w))
	}
}

func linked(s *harness.Span) bool { return len(s.Links) > 0 }

// wrote reports whether a component may have made the write: by the user, the user agent or the field
// managers of the object.
func wrote(component string, w *audit.Write) bool {
	agent, _, _ := strings.Cut(w.UserAgent, "/")
	var o metav1.PartialObjectMetadata
	_ = json.Unmarshal(w.Object, &o) // a response without an object has no field managers
	plain := strings.NewReplacer("-", "")
	return component == agent || plain.Replace(w.User) == accounts+plain.Replace(component) ||
		slices.ContainsFunc(o.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == component })
}

// accounts begins the users of the controllers.
const accounts = "system:serviceaccount:kubesystem:"

// first returns the first write of a trace to the object of its root; nil if it is not in the log.
func first(tr *harness.Trace, l *ledger) *audit.Write {
	var out *stored.Key
	least := uint64(math.MaxUint64)
	for key, w := range writesOf(tr) {
		if key.UID == tr.Spans[0].Attributes["k8s.object.uid"] && w.number < least {
			out, least = &key, w.number
		}
	}
	if out == nil {
		return nil
	}
	return l.all[*out]
}

// told is what a trace says of a write: its verb, the resourceVersion as a number, and whether it is to
// desired state.
type told struct {
	verb   string
	number uint64
	wish   bool
}

// writesOf returns the stored writes in a trace.
func writesOf(tr *harness.Trace) map[stored.Key]told {
	known := map[stored.Key]told{}
	add := func(s *harness.Span, attrs map[string]string) {
		verb := attrs["lifeline.write.verb"]
		if verb == "" || verb == "remove" || attrs["lifeline.write.part"] == "" {
			return
		}
		key := stored.Key{
			UID:     cmp.Or(attrs["k8s.object.uid"], s.Attributes["k8s.object.uid"]),
			Version: attrs["k8s.object.resource_version"],
		}
		number, _ := strconv.ParseUint(key.Version, 10, 64)
		if verb == "delete" {
			key.Version = stored.Deletion
		}
		if old, ok := known[key]; !ok || number < old.number {
			part := attrs["lifeline.write.part"]
			known[key] = told{verb, number, part == "desired" || part == "metadata"}
		}
	}
	for _, s := range tr.Spans {
		add(s, s.Attributes)
		for _, e := range s.Events {
			if e.Name == "write" {
				add(s, e.Attributes)
			}
		}
	}
	return known
}

// compare compares the traces of stored writes with those of another server: their IDs, verbs,
// outcomes and writes.
func (v *verdict) compare(want, got []*harness.Trace) {
	before, now := accountsOf(want), accountsOf(got)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		switch other, ok := now[id]; {
		case !ok:
			v.fault(differs, "no trace %s: %s", id, before[id])
		case other != before[id]:
			v.fault(differs, "trace %s: %s, not %s", id, other, before[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[id]; !ok {
			v.fault(differs, "another trace %s: %s", id, now[id])
		}
	}
}

// accountsOf returns what each trace says of stored writes of desired state, by ID. A refused write is in
// the audit log only.
func accountsOf(traces []*harness.Trace) map[string]string {
	out := map[string]string{}
	for _, tr := range traces {
		var versions []string
		for key, w := range writesOf(tr) {
			if w.wish { // statuses after the end of a trace depend on the moment of its storage
				versions = append(versions, fmt.Sprintf("%s %s of %.8s", w.verb, key.Version, key.UID))
			}
		}
		if len(versions) == 0 {
			continue
		}
		slices.Sort(versions)
		out[tr.ID] = fmt.Sprintf("%s, %d writes: %s", strings.TrimPrefix(nameOf(tr), "trace "+tr.ID+" "), len(versions),
			strings.Join(versions, ", "))
	}
	return out
}
