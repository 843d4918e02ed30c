// SPDX-License-Identifier: Apache-2.0

// Package message removes confidential text from the messages of a cluster: refused requests,
// conditions, container states, Events, and errors in the spans of other components.
//
// Such messages can quote Secret data, environment variables, arguments, annotations or command
// output. A message with a known sentence of templates.txt is kept, with the parts of a known form,
// such as names, numbers and image references. A refusal is built from the causes of its Status.
// A [Cleaner] masks all other text with the functions of its caller, and puts it into quotes; its zero
// value withholds that text. The output of programs is always withheld.
//
// Strict cleaning is idempotent: a clean message does not change.
package message

import (
	"regexp"
	"strings"
)

// Withheld replaces removed text.
const Withheld = "(text withheld)"

const (
	// maxInput is the maximum length of an input message, and maxOutput that of a clean one, in
	// bytes.
	maxInput  = 4 << 10
	maxOutput = 1 << 10
	// maxDepth limits nested messages.
	maxDepth = 12
	// maxParts limits the items of a list in a message.
	maxParts = 64
)

// Cleaner cleans messages. The zero value is strict: it withholds all text of unknown form.
type Cleaner struct {
	// Text masks the values in a text of unknown form; nil withholds such a text. The text has one
	// line, no output of programs, and URLs without path.
	Text func(text string) string
	// Refused is Text for the words of a refusal. The refused object was not stored, so its values
	// can be unknown where those of the object with the message are known.
	Refused func(text string) string
	// Shown reports whether values of a field may be shown, such as "spec.replicas"; nil means none.
	Shown func(field string) bool
}

// Clean returns a message of the API server, a webhook or a controller without confidential text.
// It returns "" for "", and at most 1024 bytes.
func (c *Cleaner) Clean(text string) string {
	return c.bounded(c.level(text).clean(c.start(text)))
}

// Clean is Clean of a strict Cleaner.
func Clean(text string) string { return new(Cleaner).Clean(text) }

// Termination returns the termination message of a container without confidential text. Such a
// message comes from a program unless the container could not start. Therefore only the reasons of
// a failed start keep text.
func Termination(reason, text string) string {
	switch reason {
	case "StartError", "ContainerCannotRun", "ContainerStatusUnknown":
		return Clean(text)
	}
	if text == "" {
		return ""
	}
	return Withheld
}

// masks reports whether some text of unknown form is kept.
func (c *Cleaner) masks() bool { return c.Text != nil || c.Refused != nil }

// start returns the part of a message that is read. A strict Cleaner withholds longer messages.
func (c *Cleaner) start(text string) string {
	if c.masks() {
		text = upTo(text, maxInput)
	}
	return text
}

// bounded limits a clean message.
func (c *Cleaner) bounded(text string) string {
	switch {
	case len(text) <= maxOutput:
		return text
	case c.masks():
		text = withoutLastWord(upTo(text, maxOutput-len(" "+mark+closeQuote)))
		if strings.Count(text, openQuote) > strings.Count(text, closeQuote) {
			text += closeQuote
		}
		return text
	}
	return Withheld
}

// level is a position in nested messages.
type level struct {
	*Cleaner
	depth int
	// refused means that the text is part of a refusal, and cut that its end may be missing.
	refused, cut bool
}

func (c *Cleaner) level(text string) level { return level{Cleaner: c, cut: isCut(text)} }

// inner returns the level of a message inside the present one.
func (l level) inner() level {
	l.depth++
	return l
}

// ofRefusal returns the level of the words of a refusal.
func (l level) ofRefusal() level {
	l.refused = true
	return l
}

// strict returns the level of a text that may quote programs or requests.
func (l level) strict() level {
	l.Cleaner = &Cleaner{Shown: l.Shown}
	return l
}

// clean is Clean for a message at this level, without the limit on the output.
func (l level) clean(text string) string { return l.by(text, general, network) }

func (l level) network(text string) string { return l.by(text, network) }

func (l level) probed(text string) string { return l.strict().by(text, probe, network) }

// by tries the templates of the given groups in order.
func (l level) by(text string, groups ...string) string {
	text = strings.TrimSpace(text)
	if text == "" || text == Withheld {
		return text
	}
	if l.depth >= maxDepth || len(text) > maxInput {
		return Withheld
	}
	for _, group := range groups {
		if out, ok := known[group].match(text, l); ok {
			return out
		}
	}
	return l.text(text)
}

// Reason returns the reason of a Status, a condition or an Event, if it is one word as the
// Kubernetes API conventions prescribe. Otherwise it returns Withheld.
func Reason(s string) string {
	if s == "" || len(s) <= maxReason && reason.MatchString(s) {
		return s
	}
	return Withheld
}

// WithReason returns text with reason as a prefix, if Reason accepts it.
func WithReason(reason, text string) string {
	if reason = Reason(reason); reason == "" || reason == Withheld {
		return text
	}
	return reason + ": " + text
}

const maxReason = 64

// reason matches a CamelCase word, a lower-case word of letters, or a constant in capitals.
var reason = regexp.MustCompile(`^(?:[A-Z][A-Za-z0-9]*|[a-z]+|[A-Z][A-Z0-9_]*)$`)
