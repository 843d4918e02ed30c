// SPDX-License-Identifier: Apache-2.0

package question

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
)

// syntaxError translates an error of CEL's parser. The noun names the expression.
func syntaxError(text, noun string, from *cel.Error) *Error {
	line, column := max(from.Location.Line(), 1), max(from.Location.Column()+1, 1)
	rest := ""
	if lines := strings.Split(text, "\n"); line <= len(lines) {
		if runes := []rune(lines[line-1]); column <= len(runes) {
			rest = string(runes[column-1:])
		}
	}
	message, isSyntax := strings.CutPrefix(from.Message, "Syntax error: ")
	at := func(detail, hint string) *Error { return &Error{line, column, printable(detail), hint} }
	word := firstWord(rest)
	switch {
	case strings.HasPrefix(message, "reserved identifier: "):
		return at(strings.TrimPrefix(message, "reserved identifier: ")+" is a reserved word of CEL", "")
	case strings.Contains(message, "must be a simple name"):
		return at("the first argument of exists and all is a variable", wayOut(operators.Exists))
	case strings.Contains(message, "invalid int literal"):
		return at("this is not a whole number of 64 bits", "")
	case strings.Contains(message, "invalid argument to has") && word == End:
		return at("has() needs a phase, its start or end, or a label",
			`write outcome != "" for finished lifecycles, and outcome == "" for open ones`)
	case strings.Contains(message, "invalid argument to has"):
		return at("has() needs a phase, its start or end, or a label", wayOut(operators.Has))
	case strings.Contains(message, "recursion"):
		return at("the "+noun+" is nested too deeply", "")
	case strings.Contains(message, "expression code point size exceeds limit"):
		return at("the "+noun+" is too long", "")
	case strings.HasPrefix(rest, "=~"):
		return at("unexpected =~", testHint)
	case strings.HasPrefix(rest, "="):
		return at("unexpected =", "to compare, write ==")
	case strings.HasPrefix(rest, "&"):
		return at("unexpected &", "write &&")
	case strings.HasPrefix(rest, "|"):
		return at("unexpected |", "write ||")
	case strings.EqualFold(word, "and"):
		return at("unexpected "+word, "write &&")
	case strings.EqualFold(word, "or"):
		return at("unexpected "+word, "write ||")
	case strings.EqualFold(word, "is"):
		return at("unexpected "+word, "to compare, write ==")
	case slices.Contains(testWords, strings.ToLower(word)):
		return at("unexpected "+word, testHint)
	case strings.HasPrefix(rest, "“"), strings.HasPrefix(rest, "”"), strings.HasPrefix(rest, "‘"),
		strings.HasPrefix(rest, "`"):
		return at("unexpected quote", `strings have straight quotes, as in "Pod"`)
	case rest != "" && isQuote(rest[0]) && strings.HasPrefix(message, "token recognition"):
		if i := badEscape(rest); i > 0 {
			column += utf8.RuneCountInString(rest[:i])
			return at(
				firstRunes(rest[i:], 2)+" is not an escape",
				`write \\ for a backslash, or a string without escapes, as in r"\d"`,
			)
		}
		return at("this string has no end", "")
	case rest == "" && strings.Contains(message, "missing ')'"):
		return at("the "+noun+" ends too early", "a ) is missing")
	case rest == "":
		return at("the "+noun+" ends too early", "")
	case !isSyntax:
		return at(message, "")
	case unit.MatchString(rest) && column > 1:
		return at("unexpected "+word, "a length of time is written "+durationExample)
	case negated.MatchString(strings.TrimSuffix(text, rest)):
		return at("unexpected "+word, "write ! before a condition, and not the word")
	}
	return at("unexpected "+word, "")
}

// firstWord returns the name or the number at the beginning of text, or its first character.
func firstWord(text string) string {
	if n := wordLength(text); n > 0 {
		return text[:n]
	}
	_, n := utf8.DecodeRuneInString(text)
	return text[:n]
}

// unit matches the unit of a number without quotes, as in 30s.
var unit = regexp.MustCompile(`^(ms|[smhd])\b`)

// negated matches the text before an error after the word not.
var negated = regexp.MustCompile(`(?i)\bnot\s*$`)

// testWords are the words that newcomers write between a text and a part of it, in lower case.
var testWords = []string{"like", "contains", "startswith", "endswith", "matches"}

const testHint = `write name.contains("web"), startsWith, endsWith or matches`

// escape matches an escape in a string.
var escape = regexp.MustCompile(
	`^\\([abfnrtv\\?"'` + "`" + `]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})`,
)

// badEscape returns the place of the first bad escape in the string at the beginning of text, or 0.
func badEscape(text string) int {
	for i := 1; i < len(text) && text[i] != text[0]; i++ {
		if text[i] != '\\' {
			continue
		}
		length := len(escape.FindString(text[i:]))
		if length == 0 && i+1 < len(text) {
			return i
		}
		i += max(0, length-1)
	}
	return 0
}

// firstRunes returns the first n characters of text.
func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}
