// SPDX-License-Identifier: Apache-2.0

// Package message keeps the harmless part of the messages that a cluster sends:
// of refused requests, of conditions and container states, of Events, and of the
// errors in other components' spans.
//
// Such messages quote values: the data of a Secret, environment variables,
// arguments, annotations, the output of a command. So a message is kept only where
// it fits one of the known sentences in templates.txt, and of that only the parts
// whose form is known, such as names, numbers and image references. A refusal is
// built from the causes of its Status. Everything else is replaced by [Withheld].
//
// Cleaning is idempotent: a clean message stays as it is.
package message

import (
	"regexp"
	"strings"
)

// Withheld stands where text was dropped.
const Withheld = "(text withheld)"

const (
	// maxInput bounds a message that is read, and maxOutput what is kept of one. A
	// longer one is withheld.
	maxInput  = 4 << 10
	maxOutput = 1 << 10
	// maxDepth bounds messages within messages.
	maxDepth = 12
	// maxParts bounds the parts of a list in a message.
	maxParts = 64
)

// Clean returns the harmless part of a message of the API server, a webhook or a
// controller, or "" for "". It has at most 1024 bytes.
func Clean(text string) string {
	return bounded(clean(text, 0))
}

// Termination returns the harmless part of the message of a container that ended
// for a reason. Unless the container could not start, a program wrote it.
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

// clean is Clean for a message within depth others.
func clean(text string, depth int) string { return cleanBy(text, depth, general, network) }

func cleanNetwork(text string, depth int) string { return cleanBy(text, depth, network) }

func cleanProbed(text string, depth int) string { return cleanBy(text, depth, probe, network) }

// cleanBy cleans by the templates of some groups.
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

// Reason returns a reason of a Status, a condition or an Event if it is one word as
// the Kubernetes API conventions prescribe, and else Withheld.
func Reason(s string) string {
	if s == "" || len(s) <= maxReason && reason.MatchString(s) {
		return s
	}
	return Withheld
}

// WithReason puts a reason before a clean message, if it is one.
func WithReason(reason, text string) string {
	if reason = Reason(reason); reason == "" || reason == Withheld {
		return text
	}
	return reason + ": " + text
}

const maxReason = 64

// reason is a word in CamelCase, of letters alone, or a constant in capitals.
var reason = regexp.MustCompile(`^(?:[A-Z][A-Za-z0-9]*|[a-z]+|[A-Z][A-Z0-9_]*)$`)
