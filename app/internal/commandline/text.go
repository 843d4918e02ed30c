// SPDX-License-Identifier: Apache-2.0

// Package commandline selects the words of a command line that a trace may hold.
//
// Words are hidden by default, because a script, an assignment or a flag may hold a secret. A trace
// holds the program and the names of flags. For the programs in programs.go it also holds the verb,
// the names of objects and values of harmless flags.
package commandline

import (
	"path/filepath"
	"strings"
)

// Hidden replaces hidden words, or a hidden value.
const Hidden = "…"

// Text returns the harmless words of a command line. args are a program and its arguments. The
// result is one line; its length is not bounded.
func Text(args []string) string {
	if len(args) == 0 {
		return ""
	}
	t := text{out: []string{shown(path, args[0])}}
	t.program = programs[strings.TrimSuffix(filepath.Base(args[0]), ".exe")]
	t.verb = t.program.verb
	t.words(args[1:])
	return strings.Join(t.out, " ")
}

// text builds one command line.
type text struct {
	program program
	verb    verb // the last one
	seen    int  // words after the verb
	out     []string
}

func (t *text) words(args []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			t.out = append(t.out, arg)
			if i+1 < len(args) {
				t.add(Hidden) // a nested command, as in `kubectl exec`
			}
			return
		case strings.HasPrefix(arg, "--"):
			i += t.long(arg, args[i+1:])
		case strings.HasPrefix(arg, "-") && arg != "-":
			i += t.short(arg, args[i+1:])
		default:
			t.word(arg)
		}
		if t.verb.command && t.seen > t.verb.names {
			return
		}
	}
}

// add appends a word. Consecutive hidden words become one.
func (t *text) add(word string) {
	if word != Hidden || t.out[len(t.out)-1] != Hidden {
		t.out = append(t.out, word)
	}
}

// long adds a flag such as --name=value or --name value. It returns the number of words in rest
// that belong to the flag.
func (t *text) long(arg string, rest []string) int {
	name, value, joined := strings.Cut(arg, "=")
	if !flagName.MatchString(name) {
		t.add(Hidden)
		return 0
	}
	check, known := t.program.flags[name]
	switch {
	case joined && (value == "true" || value == "false"):
		t.add(arg)
	case joined:
		t.add(name + "=" + shown(check, value))
	default:
		t.add(name)
		return t.following(name, check, known, rest)
	}
	return 0
}

// short adds a flag such as -n value, -nvalue or -it. It returns the number of words in rest that
// belong to the flag.
func (t *text) short(arg string, rest []string) int {
	name, value := arg[:2], arg[2:]
	sign := ""
	if after, ok := strings.CutPrefix(value, "="); ok {
		sign, value = "=", after
	}
	check, known := t.program.flags[name]
	switch {
	case !letter.MatchString(name):
		t.add(Hidden)
	case len(arg) == len(name):
		t.add(name)
		return t.following(name, check, known, rest)
	case known:
		t.add(name + sign + shown(check, value))
	case t.switches(arg[1:]):
		t.add(arg)
	default:
		t.add(name + sign + Hidden)
	}
	return 0
}

// following adds the word after a flag, if it is the flag's value. After an unknown flag the word
// may be a value, and is hidden.
func (t *text) following(name string, check check, known bool, rest []string) int {
	switch {
	case t.program.switches[name] || len(rest) == 0:
		return 0
	case !known && strings.HasPrefix(rest[0], "-"):
		return 0
	}
	t.add(shown(check, rest[0]))
	return 1
}

// switches reports whether each letter is a flag without a value.
func (t *text) switches(letters string) bool {
	for _, l := range letters {
		if !t.program.switches["-"+string(l)] {
			return false
		}
	}
	return true
}

// word adds a verb or a name.
func (t *text) word(arg string) {
	if next, ok := t.verb.verbs[arg]; ok && t.seen == 0 {
		t.verb = next
		t.add(arg)
		return
	}
	t.seen++
	if t.verb.names != anyNumber && t.seen > t.verb.names {
		t.add(Hidden)
		return
	}
	t.add(shown(t.verb.check, arg))
}
