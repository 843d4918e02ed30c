// SPDX-License-Identifier: Apache-2.0

package question

import (
	"slices"
	"strings"
)

// synonyms has the words that newcomers try.
var synonyms = map[string]string{
	"status": "outcome", "state": "outcome", "result": "outcome", "error": "reason", "message": "reason",
	"pod": "name", "ns": "namespace", "time": "start", "date": "start", "begin": "start", "timestamp": "start",
	"latency": "duration", "container": "images", "app": `labels["app"]`, "owner": "workload", "deployment": "workload",
	"host": "node", "by": "actor", "who": "user", "slow": "duration", "ready": "phase.startup",
	"started": "start", "created": "start", "finish": "end", "finished": "end", "stop": "end", "stopped": "end",
	"until": "end", "completed": "end", "ends": "end",
}

// similar returns a field that the caller may have meant, or "".
func similar(wrong string) string {
	if meant, ok := synonyms[strings.ToLower(wrong)]; ok {
		return meant
	}
	if f := byName[phase+"."+wrong]; f != nil {
		return f.Name
	}
	if near := nearest(wrong, names()); near != "" {
		return near
	}
	if near := nearest(wrong, phaseNames(phase)); near != "" {
		return phase + "." + near
	}
	return ""
}

// Nearest returns the one of names that the caller may have meant, or "".
func Nearest(wrong string, names []string) string {
	if meant := synonyms[strings.ToLower(wrong)]; slices.Contains(names, meant) {
		return meant
	}
	return nearest(wrong, names)
}

// nearest returns the name that the caller may have meant, or "": few letters differ, or one is the
// beginning of the other.
func nearest(wrong string, names []string) string {
	const most = 32 // longer than any name
	if len(wrong) > most {
		return ""
	}
	best, found := max(1, len(wrong)/3)+1, ""
	for _, name := range names {
		d := distance(strings.ToLower(wrong), strings.ToLower(name))
		// The first letter is rarely wrong.
		if d < best || d == best && found != "" && found[0] != wrong[0] && name[0] == wrong[0] {
			best, found = d, name
		}
	}
	for _, name := range names {
		if found == "" && len(wrong) > 2 && (strings.HasPrefix(name, wrong) || strings.HasPrefix(wrong, name)) {
			found = name
		}
	}
	return found
}

// distance counts the bytes to insert, delete, replace or exchange with the next one.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
