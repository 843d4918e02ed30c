// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// Problem is a problem in sentences. Its texts are escaped.
type Problem struct {
	// Age is a duration such as "3h12m". It is ">3h12m" for an older problem, whose beginning is not known, and "?" for
	// one that was first observed a moment ago.
	Age string
	// Sentence is the reason, about the first object.
	Sentence string
	// Others names the other objects; "" without them.
	Others string
	// Cause says since when, and which change led to the problem. Before has the last earlier reason; it is "" without
	// one.
	Cause, Before string
	// Next is a command, or "".
	Next string
}

// OfProblem returns the problem in sentences, at the time now. namespace is the user's: objects in it are named
// without theirs. most is the number of other objects with a name. last is the last change of the first object, for a
// problem without a known cause; nil if it is not known either.
func OfProblem(p *problem.Problem, last *problem.Cause, now time.Time, namespace string, most int) Problem {
	return Problem{
		Age:      ageOf(p, now),
		Sentence: about(&p.Object, p.Reason, namespace) + ".",
		Others:   othersOf(p, namespace, most),
		Cause:    sinceOf(p, now) + " " + causeOf(p.Cause, last, now, namespace),
		Before:   beforeOf(p, now),
		Next:     shown(p.Next),
	}
}

func ageOf(p *problem.Problem, now time.Time) string {
	age := duration.HumanDuration(max(0, now.Sub(p.Since)))
	switch {
	case p.Before && now.Sub(p.Since) < time.Minute:
		return "?"
	case p.Before:
		return ">" + age
	}
	return age
}

// about returns a sentence that begins with an object, with the namespace of that object, and without a full stop.
func about(o *object.Ref, text, namespace string) string {
	text = strings.TrimSuffix(text, ".")
	if rest, found := strings.CutPrefix(text, o.Kind.Kind+" "+o.Name+" "); found {
		return named(*o, namespace) + " " + shown(rest)
	}
	return shown(text)
}

// othersOf counts and names the objects beside the first.
func othersOf(p *problem.Problem, namespace string, most int) string {
	if p.Count < 2 {
		return ""
	}
	text := fmt.Sprintf("+%d more", p.Count-1)
	if n := len(p.Namespaces); n > 1 {
		least := ""
		if n == problem.MaxObjects {
			least = "at least "
		}
		text += fmt.Sprintf(" in %s%d namespaces", least, n)
	}
	var names []string
	of := ""
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.UID == p.Object.UID && o.Name == p.Object.Name || len(names) == most {
			continue
		}
		name := named(*o, namespace)
		if of == o.Kind.Kind {
			name = strings.TrimPrefix(name, shown(of)+" ")
		}
		of, names = o.Kind.Kind, append(names, name)
	}
	if len(names) == 0 {
		return text + "."
	}
	text += ": " + strings.Join(names, ", ")
	if len(names) < p.Count-1 {
		text += ", …"
	}
	return text
}

// causeOf names the change that led to the problem, or the last one.
func causeOf(c, last *problem.Cause, now time.Time, namespace string) string {
	label := "Cause: "
	if c == nil {
		c, label = last, "Last change: "
	}
	switch {
	case c == nil:
		return "Cause: not known."
	case c.Object == nil && c.Command == "":
		return fmt.Sprintf("%strace %.*s.", label, minPrefix, shown(c.TraceID))
	}
	of := Cause{
		TraceID: c.TraceID, Who: c.Who, Verb: c.Verb, Fields: c.Fields, Edits: c.Edits, Command: c.Command,
	}
	if c.Object != nil {
		of.Object = *c.Object
	}
	return label + of.text(c.Start, now, namespace) + "."
}

func sinceOf(p *problem.Problem, now time.Time) string {
	if p.Before {
		return "Since before " + clock(p.Since, now) + "."
	}
	return "Since " + clock(p.Since, now) + "."
}

// beforeOf returns the last earlier reason, and the number of those before it.
func beforeOf(p *problem.Problem, now time.Time) string {
	n := len(p.Earlier)
	if n == 0 {
		return ""
	}
	last := &p.Earlier[n-1]
	object := p.Object.Kind.Kind + " " + p.Object.Name + " "
	reason := strings.TrimSuffix(last.Reason, ".")
	if rest, same := strings.CutPrefix(reason, object); same {
		reason = "it " + rest
	}
	text := "Earlier reason, at " + clock(last.Since, now) + ": " + shown(cmp.Or(reason, last.Category))
	switch {
	case n == problem.MaxEarlier:
		text += fmt.Sprintf(" (and at least %d more)", n-1)
	case n > 1:
		text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return text + "."
}
