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

// parameterOf is the parameter of a request with the duration of statistics.
const parameterOf = "of"

// pointOut prints the error of a question, or of the duration of its statistics, with its line, a caret
// below the position, and the hint. It reports whether err is one.
func pointOut(o *cli.Options, question, of string, err error) bool {
	var fault *api.Error
	if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 {
		return false
	}
	wrong, text := "the question", question
	if fault.Parameter == parameterOf {
		wrong, text = "--of", of
	}
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
