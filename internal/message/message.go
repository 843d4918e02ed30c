// SPDX-License-Identifier: Apache-2.0

// Package message removes confidential text from the messages of a cluster: refused requests,
// conditions, container states, Events, and errors in the spans of other components.
//
// Such messages can quote Secret data, environment variables, arguments, annotations or command
// output. Therefore a message is kept only if it matches a known sentence in templates.txt. Only
// parts with a known form are kept, such as names, numbers and image references. A refusal is built
// from the causes of its Status. [Withheld] replaces everything else.
//
// Cleaning is idempotent: a clean message does not change.
package message

import (
	"regexp"
	"strings"
)

// Withheld replaces removed text.
const Withheld = "(text withheld)"

const (
	// maxInput is the maximum length of an input message, and maxOutput that of a clean one, in
	// bytes. A longer message becomes Withheld.
	maxInput  = 4 << 10
	maxOutput = 1 << 10
	// maxDepth limits nested messages.
	maxDepth = 12
	// maxParts limits the items of a list in a message.
	maxParts = 64
)

// Clean returns a message of the API server, a webhook or a controller without confidential text.
// It returns "" for "", and at most 1024 bytes.
func Clean(text string) string {
	return bounded(clean(text, 0))
}

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

func bounded(text string) string {
	if len(text) > maxOutput {
		return Withheld
	}
	return text
}

// clean is Clean for a message at a nesting depth, without the limit on the output.
func clean(text string, depth int) string { return cleanBy(text, depth, general, network) }

func cleanNetwork(text string, depth int) string { return cleanBy(text, depth, network) }

func cleanProbed(text string, depth int) string { return cleanBy(text, depth, probe, network) }

// cleanBy tries the templates of the given groups in order.
func cleanBy(text string, depth int, groups ...string) string {
	text = strings.TrimSpace(text)
	if text == "" || text == Withheld {
		return text
	}
	if depth >= maxDepth || len(text) > maxInput {
		return Withheld
	}
	for _, group := range groups {
		if out, ok := known[group].match(text, depth); ok {
			return out
		}
	}
	return Withheld
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
