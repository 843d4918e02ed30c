// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// state is a field of a status with one word for the state of the object.
type state struct {
	text string
	word word
}

// word is the meaning of a state.
type word int

const (
	wordNone word = iota
	wordGood
	wordOngoing
	wordTrouble
	wordStopped
	wordFailed
)

// The words of states, in lower case and without - and _.
var (
	goodWords = []string{
		"ready", "running", "active", "available", "healthy", "bound", "deployed", "installed", "online", "synced",
		"ok", "healthok", "green", "provisioned", "established", "connected", "up", "reconciled", "applied", "enabled",
		"valid", "operational", "created", "accepted", "configured", "updated",
	}
	doneWords = []string{
		"succeeded", "success", "successful", "completed", "complete", "finished", "done",
	}
	stoppedWords = []string{"stopped", "halted", "suspended", "paused", "hibernated", "disabled", "sleeping"}
	troubleWords = []string{
		"degraded", "unhealthy", "unavailable", "warning", "yellow", "red", "notready", "lost",
		"healthwarn", "healtherr",
	}
	ongoingWords = []string{"pending", "new", "init", "queued", "scheduled", "unknown", "inprogress", "notstarted"}
	failedParts  = []string{
		"failed", "failure", "error", "errored", "invalid", "aborted", "rejected", "fatal", "faulted",
	}
)

// wordOf returns the meaning of a state.
func wordOf(text string) word {
	if !oneWord.MatchString(text) {
		return wordNone
	}
	lower := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(text))
	switch {
	case slices.Contains(goodWords, lower), slices.Contains(doneWords, lower):
		return wordGood
	case slices.Contains(stoppedWords, lower):
		return wordStopped
	case slices.Contains(troubleWords, lower):
		return wordTrouble
	case hasPart(text, failedParts...):
		return wordFailed
	case slices.Contains(ongoingWords, lower), slices.ContainsFunc(camelParts(text), func(p string) bool {
		return len(p) > len("ing")+1 && strings.HasSuffix(strings.ToLower(p), "ing")
	}):
		return wordOngoing
	}
	return wordNone
}

// oneWord matches a state.
var oneWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// stateNames are the ends of the names of fields with a state. otherStates are the beginnings of those
// that are about another time, or are a wish.
var (
	stateNames  = []string{"phase", "state", "status", "health"}
	otherStates = []string{"last", "previous", "old", "desired", "target", "next"}
)

// isState reports whether a field has the state of the object.
func isState(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(stateNames, func(end string) bool { return strings.HasSuffix(name, end) }) &&
		!slices.ContainsFunc(otherStates, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// readStates returns the states in a status that have a meaning: its fields, those one level below a
// state, and the field ready.
func readStates(status fields) []state {
	var out []state
	add := func(v any) {
		if text, _ := v.(string); text != "" {
			if w := wordOf(text); w != wordNone {
				out = append(out, state{text, w})
			}
		}
	}
	for _, key := range sortedKeys(status) {
		switch v := status[key].(type) {
		case string:
			if isState(key) {
				add(v)
			}
		case fields:
			if isState(key) {
				for _, name := range stateNames {
					add(v[name])
				}
			}
		case bool:
			switch {
			case key == "ready" && v:
				out = append(out, state{"Ready", wordGood})
			case key == "ready":
				out = append(out, state{"NotReady", wordOngoing})
			}
		}
	}
	return out
}

// byStates returns the verdict of the states. The worst one counts. An object that runs to its end has
// not converged while it runs.
func (s *subject) byStates() named {
	worst := state{}
	for _, st := range s.states {
		if s.once && st.word == wordGood && !slices.Contains(doneWords, strings.ToLower(st.text)) {
			st.word = wordOngoing
		}
		if rank(st.word) > rank(worst.word) {
			worst = st
		}
	}
	v := Verdict{
		Progress: observation.ProgressInProgress, By: observation.JudgedByNames, Reason: worst.text,
		Message: cmp.Or(raw(s.status, "message"), raw(s.status, "reason"), raw(s.status, "error")),
	}
	switch worst.word {
	case wordNone:
		return named{}
	case wordGood:
		v.Progress, v.Message, v.Reason = observation.ProgressCurrent, "", ""
	case wordFailed:
		v.Progress = observation.ProgressFailed
	case wordStopped:
		v.Held = true
	case wordOngoing, wordTrouble:
	}
	return named{v, true}
}

// rank orders the words: the worst is the highest.
func rank(w word) int {
	return slices.Index([]word{wordNone, wordGood, wordStopped, wordTrouble, wordOngoing, wordFailed}, w)
}

// onceNames are the ends of the names of kinds whose objects run to their end. A kind of templates or
// schedules begins with one of scheduleNames.
var (
	onceNames     = []string{"Job", "JobSet", "Run", "Workflow", "Backup", "Restore"}
	scheduleNames = []string{"Cron", "Scaled", "Scheduled", "Advanced"}
)

func runsOnce(kind string) bool {
	return slices.ContainsFunc(onceNames, func(end string) bool { return strings.HasSuffix(kind, end) }) &&
		!slices.ContainsFunc(scheduleNames, func(begin string) bool { return strings.HasPrefix(kind, begin) })
}
