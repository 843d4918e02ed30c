// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// told is one write in a trace.
type told struct {
	stored.Key
	verb, kind string
	number     uint64
	// wish means a write to desired state.
	wish bool
}

// change is one trace as a line of a scenario.
type change struct {
	trace *harness.Trace
	// head is VERB KIND NAME OUTCOME, by the author that the audit log names.
	head    string
	effects map[string]int
	// root is the write that the trace began with; nil if the log does not have it.
	root *audit.Write
	// user and component are the author by the trace.
	user, component string
	writes          map[stored.Key]told
}

// line returns the change as scenarios write it.
func (c *change) line() string {
	if len(c.effects) == 0 {
		return c.head
	}
	var out []string
	for effect, n := range c.effects {
		if n > 1 {
			effect += fmt.Sprintf(" ×%d", n)
		}
		out = append(out, effect)
	}
	slices.Sort(out)
	return c.head + ": " + strings.Join(out, ", ")
}

// changeOf reads a trace.
func changeOf(tr *harness.Trace, is *truth) *change {
	root := tr.Spans[0]
	c := &change{
		trace: tr, effects: map[string]int{}, writes: map[stored.Key]told{},
		user: root.Attributes["lifeline.actor.user"], component: root.Attributes["lifeline.actor.component"],
	}
	var own, status []told
	effects := map[string]map[string]bool{} // verbs by UID
	kinds := map[string]string{}
	for _, w := range writesOf(tr) {
		if is.uninstalls[w.Key] {
			w.verb, w.Version = "delete", stored.Deletion
		}
		mine := w.UID == root.Attributes["k8s.object.uid"]
		if !w.wish {
			if mine {
				status = append(status, w)
			}
			continue
		}
		c.writes[w.Key] = w
		switch {
		case mine:
			own = append(own, w)
		case effects[w.UID] == nil:
			effects[w.UID], kinds[w.UID] = map[string]bool{w.verb: true}, w.kind
		default:
			effects[w.UID][w.verb] = true
		}
	}
	for uid, verbs := range effects {
		if verbs["create"] || verbs["delete"] {
			delete(verbs, "update")
		}
		for verb := range verbs {
			c.effects[verb+" "+kinds[uid]]++
		}
	}
	verb := strings.SplitN(root.Name, " ", 2)[0]
	if len(own) == 0 {
		own = status // the change of a status, such as a new revision
	}
	if len(own) > 0 {
		first := slices.MinFunc(own, func(a, b told) int { return cmp.Compare(a.number, b.number) })
		verb = first.verb
		c.root = is.all[first.Key]
	}
	by := "?"
	if c.root != nil {
		by = shortUser(c.root.User)
	} else if root.Error && c.user != "" {
		by = c.user // a refused write
	}
	name := cmp.Or(is.names[root.Attributes["k8s.object.uid"]], root.Object())
	if n := root.Attributes["lifeline.fight.count"]; n != "" {
		name += " against " + strings.Trim(root.Attributes["lifeline.fight.opponents"], `[]"`) + " #" + n
	}
	c.head = strings.Join([]string{by, verb, root.Kind(), name, root.Outcome()}, " ")
	return c
}

// writesOf returns the writes in a trace.
func writesOf(tr *harness.Trace) []told {
	var out []told
	add := func(verb string, s *harness.Span, attrs map[string]string) {
		part := attrs["lifeline.write.part"]
		if verb == "remove" || part == "" {
			return
		}
		w := told{
			verb: verb, kind: cmp.Or(attrs["k8s.object.kind"], s.Kind()), wish: part == "desired" || part == "metadata",
		}
		w.UID = cmp.Or(attrs["k8s.object.uid"], s.Attributes["k8s.object.uid"])
		w.Version = attrs["k8s.object.resource_version"]
		w.number, _ = strconv.ParseUint(w.Version, 10, 64)
		if verb == "delete" {
			w.Version = stored.Deletion
		}
		out = append(out, w)
	}
	for _, s := range tr.Spans {
		if verb, _, _ := strings.Cut(s.Name, " "); verb != "reconcile" {
			add(verb, s, s.Attributes)
		}
		for _, e := range s.Events {
			if e.Name == "write" {
				add(e.Attributes["lifeline.write.verb"], s, e.Attributes)
			}
		}
	}
	return out
}

// named is what a trace says of its author.
type named int

const (
	rightName named = iota
	noName
	wrongName
)

// judgeName compares the author that a trace names with the audit log. By watch alone a trace names
// the field manager: the user's own, or that of kubectl or Helm.
func (c *change) judgeName() named {
	switch {
	case c.root == nil:
		return noName
	case c.user != "":
		if c.user == c.root.User {
			return rightName
		}
		return wrongName
	case c.component == "":
		return noName
	}
	user := shortUser(c.root.User)
	if c.component == user || isPerson(user) && byHand.MatchString(c.component) ||
		!isPerson(user) &&
			slices.Contains(shared[c.component], user) || !isPerson(user) && c.component == agentOf(c.root) {
		return rightName
	}
	return wrongName
}

// byHand are the programs of people.
var byHand = regexp.MustCompile("^(kubectl|helm$|Helm$)")

// shared are the users of programs that write under one name.
var shared = map[string][]string{
	"kube-controller-manager": {"kube-controller-manager"},
	"garbage-collector":       {"generic-garbage-collector"},
	"daemonset-controller":    {"daemon-set-controller"},
	"capi-machineset":         {"cluster-api"},
}

func agentOf(w *audit.Write) string {
	agent, _, _ := strings.Cut(w.UserAgent, "/")
	return agent
}

// verdict is how one server did in one scenario.
type verdict struct {
	// missing and surplus are the lines that were wanted and not found, and the reverse.
	missing, surplus []string
	// right, wrong and none count the desired writes by trace.
	right, wrong, none int
	// names count the authors.
	names [3]int
	// series is the number of writes that may yet be counted in a trace.
	series int
	// lost are the writes of none, misplaced those of wrong, misnamed the changes with a wrong name.
	lost, misplaced, misnamed []string
}

func (v *verdict) ok() bool {
	return len(v.missing)+len(v.surplus)+len(v.lost)+len(v.misplaced)+len(v.misnamed) == 0
}

// unlinked returns the wanted links that are not in the traces.
func unlinked(traces []*harness.Trace, want []string, is *truth) []string {
	names := map[string]string{}
	nameOf := func(s *harness.Span) string {
		return s.Kind() + " " + cmp.Or(is.names[s.Attributes["k8s.object.uid"]], s.Object())
	}
	for _, tr := range traces {
		for _, s := range tr.Spans {
			names[s.ID] = nameOf(s)
		}
	}
	var got []string
	for _, tr := range traces {
		for _, s := range tr.Spans {
			for _, l := range s.Links {
				got = append(got, nameOf(s)+" "+l.Why+" "+names[l.Span])
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(want), func(link string) bool { return slices.Contains(got, link) })
}

// judge compares traces with the wanted lines and with the audit log. As many writes as series says
// are counted in a trace and have no own.
func judge(traces []*harness.Trace, want []string, is *truth, series int) verdict {
	v := verdict{series: series}
	var changes []*change
	for _, tr := range traces {
		c := changeOf(tr, is)
		changes = append(changes, c)
		name := c.judgeName()
		v.names[name]++
		if name == wrongName {
			v.misnamed = append(v.misnamed, fmt.Sprintf("%s: named %s", c.head, cmp.Or(c.user, c.component)))
		}
	}
	left := slices.Clone(want)
	matched := map[*change]bool{}
	for _, c := range changes {
		if i := slices.IndexFunc(left, c.is); i >= 0 {
			left = slices.Delete(left, i, i+1)
			matched[c] = true
		}
	}
	budgets, half := map[*change]map[string]int{}, slices.Clone(left)
	for _, c := range changes {
		if matched[c] {
			continue
		}
		v.surplus = append(v.surplus, c.line())
		if i := slices.IndexFunc(half, c.begins); i >= 0 {
			budgets[c] = effectsOf(half[i])
			half = slices.Delete(half, i, i+1)
		}
	}
	v.missing = left
	for i := range is.writes {
		v.place(&is.writes[i], changes, matched, budgets, is)
	}
	return v
}

// place counts one write of the audit log.
func (v *verdict) place(
	w *audit.Write, changes []*change, matched map[*change]bool, budgets map[*change]map[string]int, is *truth,
) {
	what := fmt.Sprintf("%s %s %s %s", shortUser(w.User), stored.VerbOf(w), w.Resource, cmp.Or(is.names[w.UID], w.Name))
	i := slices.IndexFunc(changes, func(c *change) bool { _, ok := c.writes[stored.KeyOf(w)]; return ok })
	if i < 0 && v.series > 0 && slices.ContainsFunc(changes, func(c *change) bool { return c.repeats(w) }) {
		v.series--
		v.right++
		return
	}
	if i < 0 {
		v.none++
		v.lost = append(v.lost, what)
		return
	}
	c := changes[i]
	effect := stored.VerbOf(w) + " " + c.writes[stored.KeyOf(w)].kind
	budget, known := budgets[c]
	switch {
	case matched[c], known && c.root != nil && w.UID == c.root.UID:
		v.right++
	case known && budget[effect] > 0:
		budget[effect]--
		v.right++
	default:
		v.wrong++
		v.misplaced = append(v.misplaced, what+", in the trace of "+c.head)
	}
}

// repeats reports whether the write may repeat the change, in a series.
func (c *change) repeats(w *audit.Write) bool {
	return c.root != nil && c.root.UID == w.UID && c.root.User == w.User && stored.VerbOf(c.root) == "update" &&
		stored.VerbOf(w) == "update"
}

// is reports whether the change is what a wanted line says.
func (c *change) is(want string) bool {
	return c.begins(want) && maps.Equal(c.effects, effectsOf(want))
}

// begins reports whether the change is that of a wanted line, apart from effects. Outcomes have
// alternatives.
func (c *change) begins(want string) bool {
	head, _, _ := strings.Cut(want, ": ")
	i := strings.LastIndexByte(head, ' ')
	for outcome := range strings.SplitSeq(head[i+1:], "|") {
		if head[:i+1]+outcome == c.head {
			return true
		}
	}
	return false
}

// effectsOf reads the effects of a wanted line.
func effectsOf(line string) map[string]int {
	out := map[string]int{}
	_, list, found := strings.Cut(line, ": ")
	if !found {
		return out
	}
	for effect := range strings.SplitSeq(list, ", ") {
		name, count, times := strings.Cut(effect, " ×")
		out[name] = 1
		if n, err := strconv.Atoi(count); times && err == nil {
			out[name] = n
		}
	}
	return out
}
