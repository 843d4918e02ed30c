// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// maxExcerpt bounds the part of a question's line before an error, and the part after it, in
// characters.
const maxExcerpt = 50

// expressions are those of a request: the question, the duration of its statistics, the value to sort by, and the keys
// of groups.
type expressions struct {
	where, of, sort string
	by              []string
}

// named returns the expression of a parameter of the request, and its name in the command. The index is that of the
// value of a repeated one.
func (e expressions) named(parameter string, index int) (name, text string) {
	switch {
	case parameter == "of":
		return "--of", e.of
	case parameter == "sort":
		return "--sort", e.sort
	case parameter == "by" && index < len(e.by):
		return "--by", e.by[index]
	}
	return "the question", e.where
}

// pointOut prints the error of an expression, with its line, a caret below the position, and the hint. It
// reports whether err is one.
func pointOut(o *cli.Options, in expressions, err error) bool {
	var fault *api.Error
	if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 {
		return false
	}
	wrong, text := in.named(fault.Parameter, fault.Index)
	before, after := excerpt(text, fault.Line, fault.Column)
	place := ""
	if strings.Contains(text, "\n") {
		place = fmt.Sprintf(" in line %d", fault.Line)
	}
	o.Say("%s has an error%s: %s", wrong, place, cli.Shown(fault.Message))
	say := func(text string) { _, _ = fmt.Fprintf(o.Streams.ErrOut, "  %s\n", text) }
	say(before + after)
	say(strings.Repeat(" ", render.Width(before)) + "^")
	if fault.Hint != "" {
		say(cli.Shown(fault.Hint))
	}
	return true
}

// excerpt returns the parts of a line before and after a column, both escaped.
func excerpt(question string, line, column int) (before, after string) {
	lines := strings.Split(question, "\n")
	text := []rune(strings.TrimSuffix(lines[min(line, len(lines))-1], "\r"))
	at := min(column-1, len(text))
	from, to := 0, len(text)
	if at > maxExcerpt {
		from, before = at-maxExcerpt, "…"
	}
	end := ""
	if to-at > maxExcerpt {
		to, end = at+maxExcerpt, "…"
	}
	before += render.Escape(strings.ReplaceAll(string(text[from:at]), "\t", " "))
	return before, render.Escape(strings.ReplaceAll(string(text[at:to]), "\t", " ")) + end
}

// errNamespace is the error of an object without the namespace that it is in.
func errNamespace(target cli.Target) error {
	return fmt.Errorf("name the namespace of %s with -n", target)
}
