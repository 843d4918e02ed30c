// SPDX-License-Identifier: Apache-2.0

package questiontest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// Expression returns a random question of the supported part of CEL. depth bounds its nesting.
func Expression(r *rand.Rand, depth int) string {
	return (&generator{r: r}).of(question.Bool, depth)
}

// Length returns a random expression with a duration. depth bounds its nesting.
func Length(r *rand.Rand, depth int) string {
	return (&generator{r: r}).of(question.Duration, depth)
}

// Number returns a random expression with a duration or a whole number. depth bounds its nesting.
func Number(r *rand.Rand, depth int) string {
	return (&generator{r: r}).of(one(r, []question.Type{question.Duration, question.Duration, question.Int}), depth)
}

// Text returns a random expression with a text. depth bounds its nesting.
func Text(r *rand.Rand, depth int) string {
	return (&generator{r: r}).of(question.String, depth)
}

// generator makes expressions of a type.
type generator struct {
	r *rand.Rand
	// local is the variable of the exists or all around, or "".
	local string
}

// of returns an expression of the type. At depth 0 it is a literal or a field.
func (g *generator) of(t question.Type, depth int) string {
	if depth > 0 && g.r.IntN(12) == 0 {
		return "(" + g.of(question.Bool, depth-1) + " ? " + g.of(t, depth-1) + " : " + g.of(t, depth-1) + ")"
	}
	switch t {
	case question.String:
		return g.text(depth)
	case question.Int:
		return g.number()
	case question.Timestamp:
		return g.moment(depth)
	case question.Duration:
		return g.length(depth)
	}
	return g.condition(depth)
}

func (g *generator) condition(depth int) string {
	if depth <= 0 {
		switch n := g.r.IntN(9); {
		case n == 0:
			return strconv.FormatBool(g.r.IntN(2) == 0)
		case n == 1 && g.local != "phase":
			return "has(phase." + one(g.r, question.Phases()).Name + ")"
		case n == 3 && g.local != "began" && g.local != "ended":
			return "has(" + g.edge() + ")"
		case n == 2 && g.local != "labels":
			return "has(labels." + one(g.r, []string{"app", "tier", "web", "none"}) + ")"
		}
		return g.comparison(0)
	}
	switch g.r.IntN(12) {
	case 0, 1, 2:
		sign := one(g.r, []string{" && ", " || "})
		return "(" + g.of(question.Bool, depth-1) + sign + g.of(question.Bool, depth-1) + ")"
	case 3:
		return "!(" + g.of(question.Bool, depth-1) + ")"
	case 4, 5:
		return g.membership(depth)
	case 6, 7:
		return g.test(depth)
	case 8, 9:
		if g.local == "" {
			return g.quantifier(depth)
		}
	}
	return g.comparison(depth)
}

func (g *generator) comparison(depth int) string {
	t := one(g.r, []question.Type{
		question.String, question.String, question.Int, question.Timestamp, question.Duration, question.Duration,
	})
	if depth > 1 && g.r.IntN(6) == 0 {
		t = question.Bool
	}
	sign := one(g.r, []string{" == ", " != ", " < ", " <= ", " > ", " >= "})
	a, b := g.of(t, depth-1), g.of(t, depth-1)
	if equal := sign == " == " || sign == " != "; equal && few[b] != nil && b != g.local {
		a = g.possible(a, b)
	} else if equal && few[a] != nil && a != g.local {
		b = g.possible(b, a)
	}
	return "(" + a + sign + b + ")"
}

// few has the values of the fields that have few.
var few = func() map[string][]string {
	out := map[string][]string{}
	for _, f := range question.Fields() {
		if f.Values != nil {
			out[f.Name] = append([]string{""}, f.Values[:3]...)
		}
	}
	return out
}()

// possible returns a text to compare with a field that has few values: other literals are errors.
func (g *generator) possible(text, field string) string {
	if strings.HasPrefix(text, `"`) {
		return quoted(one(g.r, few[field]))
	}
	return text
}

func (g *generator) membership(depth int) string {
	switch n := g.r.IntN(3); {
	case n == 0:
		return "(" + g.of(question.String, depth-1) + " in images)"
	case n == 1 && g.local != "labels":
		return "(" + g.of(question.String, depth-1) + " in labels)"
	}
	t := one(g.r, []question.Type{question.String, question.Int, question.Timestamp, question.Duration, question.Bool})
	of := g.of(t, depth-1)
	elements := make([]string, 1+g.r.IntN(3))
	for i := range elements {
		elements[i] = g.literal(t)
		if few[of] != nil && of != g.local {
			elements[i] = g.possible(elements[i], of)
		}
	}
	return "(" + of + " in [" + strings.Join(elements, ", ") + "])"
}

func (g *generator) test(depth int) string {
	of := g.of(question.String, depth-1)
	if g.r.IntN(4) == 0 {
		return of + ".matches(" + quoted(one(g.r, []string{
			"", "^a", "b$", "(?i)nginx", "[0-9]+", "^web-1$", ".", "^.$", `\.`, "^(a|ab|web)$", "é", "%", `\x00`,
		})) + ")"
	}
	function := one(g.r, []string{"contains", "startsWith", "endsWith"})
	return of + "." + function + "(" + g.of(question.String, depth-1) + ")"
}

func (g *generator) quantifier(depth int) string {
	g.local = one(g.r, []string{
		"i", "k", "kind", "namespace", "labels", "now", "phase", "began", "ended", "end",
	}) // some hide a field
	condition := g.of(question.Bool, depth-1)
	local := g.local
	g.local = ""
	of := one(g.r, []string{"images", "labels"})
	return of + "." + one(g.r, []string{"exists", "all"}) + "(" + local + ", " + condition + ")"
}

// texts are the fields with one string.
var texts = func() []string {
	var out []string
	for _, f := range question.Fields() {
		if f.Type == question.String {
			out = append(out, f.Name)
		}
	}
	return out
}()

func (g *generator) text(depth int) string {
	if g.local != "" && g.r.IntN(2) == 0 {
		return g.local
	}
	switch n := g.r.IntN(8); {
	case n == 0 && g.local != "labels":
		return "labels." + one(g.r, []string{"app", "tier", "none"})
	case n == 1 && g.local != "labels":
		return "labels[" + quoted(one(g.r, keys)) + "]"
	case n == 2 && depth > 0 && g.local != "labels":
		return "labels[" + g.of(question.String, depth-1) + "]"
	case n < 5:
		return g.literal(question.String)
	}
	return one(g.r, texts)
}

func (g *generator) number() string {
	switch n := g.r.IntN(6); {
	case n == 0:
		return "size(images)"
	case n == 1 && g.local != "labels":
		return "labels.size()"
	case n < 4:
		return "volumes"
	}
	return g.literal(question.Int)
}

func (g *generator) moment(depth int) string {
	if depth > 0 {
		switch g.r.IntN(6) {
		case 0:
			return "(" + g.of(question.Timestamp, depth-1) + " + " + g.of(question.Duration, depth-1) + ")"
		case 1:
			return "(" + g.of(question.Duration, depth-1) + " + " + g.of(question.Timestamp, depth-1) + ")"
		case 2:
			return "(" + g.of(question.Timestamp, depth-1) + " - " + g.of(question.Duration, depth-1) + ")"
		}
	}
	switch n := g.r.IntN(8); {
	case n == 0 && g.local != "now":
		return "now"
	case n == 1:
		return g.literal(question.Timestamp)
	case n == 2 && g.local != "end":
		return "end"
	case n < 6 && g.local != "began" && g.local != "ended":
		return g.edge()
	}
	return "start"
}

// edge returns the start or the end of a phase.
func (g *generator) edge() string {
	return one(g.r, []string{"began.", "ended."}) + one(g.r, stepped).Name
}

func (g *generator) length(depth int) string {
	if depth > 0 {
		switch g.r.IntN(8) {
		case 0:
			return "(" + g.of(question.Duration, depth-1) + " + " + g.of(question.Duration, depth-1) + ")"
		case 1:
			return "(" + g.of(question.Duration, depth-1) + " - " + g.of(question.Duration, depth-1) + ")"
		case 2:
			return "(" + g.of(question.Timestamp, depth-1) + " - " + g.of(question.Timestamp, depth-1) + ")"
		}
	}
	switch n := g.r.IntN(4); {
	case n == 0:
		return "duration"
	case n == 1 && g.local != "phase":
		return "phase." + one(g.r, question.Phases()).Name
	}
	return g.literal(question.Duration)
}

func (g *generator) literal(t question.Type) string {
	switch t {
	case question.String:
		return quoted(word(g.r))
	case question.Int:
		return strconv.Itoa(g.r.IntN(6) - 1)
	case question.Timestamp:
		return fmt.Sprintf("timestamp(%q)", one(g.r, moments).Format(time.RFC3339Nano))
	case question.Duration:
		return fmt.Sprintf("duration(%q)", time.Duration(one(g.r, lengths)).String())
	}
	return strconv.FormatBool(g.r.IntN(2) == 0)
}

// quoted returns a literal of CEL.
func quoted(text string) string { return strconv.Quote(text) }
