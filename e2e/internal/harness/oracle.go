// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// Oracle is what the API server stored in one namespace.
type Oracle struct {
	bench     *Bench
	namespace string
	// since is how many writes there were before.
	since int
}

// calm is how long nothing must have been written, and nothing be on its way
// out, for what came before to be over.
const calm = time.Second

// looks is the required number of quiet checks in a row: after a pause of the
// whole machine there were no writes for long, and many come at once.
const looks = 3

// Oracle begins to count the writes in the namespace, once what went on there
// is over.
func (b *Bench) Oracle(t testing.TB, namespace string) *Oracle {
	t.Helper()
	o := &Oracle{bench: b, namespace: namespace}
	o.since = len(o.Calm(t))
	return o
}

// Calm waits until what goes on in the namespace is over, and returns all that
// was ever written there.
func (o *Oracle) Calm(t testing.TB) []audit.Write {
	t.Helper()
	var all []audit.Write
	quiet := 0
	Eventually(t, "calm in namespace "+o.namespace, func() bool {
		all = o.bench.stored(t, o.namespace)
		if len(all) == 0 {
			return true
		}
		if time.Since(all[len(all)-1].Completed) <= calm || o.going(t) ||
			len(o.bench.stored(t, o.namespace)) != len(all) {
			quiet = 0
			return false
		}
		quiet++
		return quiet == looks
	})
	return all
}

// going reports whether something in the namespace is being deleted: a kubelet
// may write nothing of a Pod for longer than calm while its containers stop.
func (o *Oracle) going(t testing.TB) bool {
	t.Helper()
	return o.bench.MustKubectl(t, "", "-n", o.namespace, "get", strings.Join(counted, ","),
		"-o", "jsonpath={.items[*].metadata.deletionTimestamp}") != ""
}

// Somewhere says that a write belongs to exactly one of the traces, whichever.
const Somewhere = -2

// counted are the resources whose writes an oracle knows.
var counted = []string{"deployments", "replicasets", "pods"}

// stored returns the writes to what is counted.
func (b *Bench) stored(t testing.TB, namespace string) []audit.Write {
	t.Helper()
	all, err := audit.Read(b.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(w audit.Write) bool {
		return w.Namespace != namespace || !slices.Contains(counted, w.Resource)
	})
}

// Names returns readable names for all that was ever created in the namespace.
func (o *Oracle) Names(t testing.TB) Names {
	t.Helper()
	return o.bench.NamesIn(t, o.namespace)
}

// NamesIn returns readable names for all that was ever created in a namespace.
func (b *Bench) NamesIn(t testing.TB, namespace string) Names {
	t.Helper()
	n := Names{replace: map[string]string{}}
	sets := map[string]int{}
	all := b.stored(t, namespace)
	created := func(resource string, f func(name string)) {
		for _, w := range all {
			if w.Resource == resource && w.Verb == "create" && w.Subresource == "" {
				f(w.Name)
			}
		}
	}
	created("replicasets", func(name string) {
		base := name[:strings.LastIndex(name, "-")]
		n.replace[name] = fmt.Sprintf("%s-%c", base, 'A'+sets[base])
		sets[base]++
	})
	// The log is in order of answers: a Pod's may come before its owner's.
	created("pods", func(name string) {
		if i := strings.LastIndex(name, "-"); i > 0 {
			if owner, ok := n.replace[name[:i]]; ok {
				n.replace[name] = owner + "-*"
			}
		}
	})
	return n
}

// Check compares the traces with the log. Every write from the oracle's start to the end of the result is in the trace
// that caused returns: an index into r.Traces, Somewhere, or -1 for none. The traces have no other writes.
//
// The log has no resourceVersion for some writes. The responses to a binding and
// an eviction are not objects. A delete that ends a graceful deletion first stores
// the object with a grace period of 0, and its response has one resourceVersion or
// none. So each such request explains one more write of its object.
func (o *Oracle) Check(t testing.TB, r Result, caused func(name string, w audit.Write) int) {
	t.Helper()
	names := o.Names(t)
	told := make([]map[stored]bool, len(r.Traces))
	for i, tr := range r.Traces {
		told[i] = tr.writes()
	}
	// Some answers do not tell the resourceVersion; such a write is any one
	// of its object that no other write accounts for.
	unnumbered := map[string]int{}
	expected := make([]map[stored]bool, len(r.Traces))
	for i := range expected {
		expected[i] = map[stored]bool{}
	}
	for _, w := range o.bench.stored(t, o.namespace)[o.since:] {
		if w.Completed.After(r.Ended) {
			continue
		}
		rv, _ := strconv.ParseUint(w.ResourceVersion, 10, 64)
		want := caused(names.Of(w.Name), w)
		if rv == 0 {
			unnumbered[w.UID]++
			if w.Verb == "delete" {
				unnumbered[w.UID]++
			}
			continue
		}
		if w.Verb == "delete" || w.Removed {
			unnumbered[w.UID] += 2
		}
		key := stored{w.UID, rv}
		if want == Somewhere {
			want = slices.IndexFunc(told, func(m map[stored]bool) bool { return m[key] })
			if want < 0 {
				t.Errorf("no trace has the %s of %s %s/%s (resourceVersion %d) by %s",
					w.Verb, w.Resource, names.Of(w.Name), w.Subresource, rv, w.User)
				continue
			}
		}
		for i := range told {
			switch {
			case i == want:
				expected[i][key] = true
				if !told[i][key] {
					t.Errorf("trace %d lacks the %s of %s %s/%s (resourceVersion %d) by %s",
						i, w.Verb, w.Resource, names.Of(w.Name), w.Subresource, rv, w.User)
				}
			case told[i][key]:
				t.Errorf("trace %d tells of the %s of %s %s/%s (resourceVersion %d) by %s, which it did not cause",
					i, w.Verb, w.Resource, names.Of(w.Name), w.Subresource, rv, w.User)
			}
		}
	}
	for i := range told {
		for key := range told[i] {
			if expected[i][key] || !o.watches(t, key.uid) {
				continue
			}
			if unnumbered[key.uid]--; unnumbered[key.uid] < 0 {
				t.Errorf("trace %d tells of a write of %s at resourceVersion %d that was not stored",
					i, key.uid, key.rv)
			}
		}
	}
}

// CheckOnly is Check for the writes of wanted objects, in any trace. It ignores
// further writes in the traces.
func (o *Oracle) CheckOnly(t testing.TB, r Result, wanted func(name string) bool) {
	t.Helper()
	names := o.Names(t)
	for _, w := range o.bench.stored(t, o.namespace)[o.since:] {
		rv, _ := strconv.ParseUint(w.ResourceVersion, 10, 64)
		if rv == 0 || w.Removed || !wanted(names.Of(w.Name)) {
			continue
		}
		in := 0
		for _, tr := range r.Traces {
			if tr.writes()[stored{w.UID, rv}] {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%d traces have the %s of %s %s/%s (resourceVersion %d) by %s, want one",
				in, w.Verb, w.Resource, names.Of(w.Name), w.Subresource, rv, w.User)
		}
	}
}

// Final holds a recording against the log: of every object that the oracle
// counts it has the last state that was stored, or that it is gone.
func (o *Oracle) Final(t testing.TB, file string) {
	t.Helper()
	last := map[string]audit.Write{}
	for _, w := range o.bench.stored(t, o.namespace)[o.since:] {
		if w.UID != "" && w.ResourceVersion != "" {
			last[w.UID] = w
		}
	}
	seen := lastSeen(t, file)
	for uid, w := range last {
		if rv := seen[uid]; rv != gone && strconv.FormatUint(rv, 10) != w.ResourceVersion {
			t.Errorf("the recording's last state of %s %s is %d, stored was %s",
				w.Resource, w.Name, rv, w.ResourceVersion)
		}
	}
}

// watches reports whether the object is one that the oracle counts.
func (o *Oracle) watches(t testing.TB, uid string) bool {
	t.Helper()
	return slices.ContainsFunc(o.bench.stored(t, o.namespace), func(w audit.Write) bool { return w.UID == uid })
}

// All says that everything belongs to the first trace.
func All(string, audit.Write) int { return 0 }
