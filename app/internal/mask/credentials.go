// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"cmp"
	_ "embed" // the rules
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// gitleaks are the rules of gitleaks v8.30.1, as they are in its file config/gitleaks.toml.
//
//go:embed gitleaks/gitleaks.toml
var gitleaks string

// generic is the rule of gitleaks that matches any assignment with a random text.
const generic = "generic-api-key"

// rule is a rule of gitleaks. Its threshold of entropy and its lists of harmless texts are not used: a
// masked word is better than a leaked one.
type rule struct {
	id, regex string
	// keywords are in lower case. A text without any of them has no match.
	keywords []string
	// secretGroup is the number of the group with the credential; 0 means the first.
	secretGroup int
	compile     func() *regexp.Regexp
}

// rules returns the rules for texts. The expressions have no backtracking, and are compiled when a text
// first has one of their keywords.
var rules = sync.OnceValue(func() []*rule {
	var out []*rule
	for _, r := range parsed(gitleaks) {
		if r.id == generic || r.regex == "" || len(r.keywords) == 0 {
			continue // rules about paths have no expression
		}
		r.compile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.regex) })
		out = append(out, r)
	}
	return out
})

// parsed reads the rules of a file of gitleaks. It reads the part of TOML that the file has: one member a line, and
// lists of texts over several lines.
func parsed(file string) []*rule {
	var out []*rule
	section, list := "", false
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		name, value, assigned := strings.Cut(line, " = ")
		switch {
		case !list && strings.HasPrefix(line, "["):
			if section = line; section == "[[rules]]" {
				out = append(out, new(rule))
			}
			continue
		case section != "[[rules]]" || !list && !assigned:
			continue
		case list:
			name, value = "keywords", line
		}
		r := out[len(out)-1]
		switch name {
		case "id":
			r.id = strings.Trim(value, `"`)
		case "regex":
			r.regex = strings.TrimSuffix(strings.TrimPrefix(value, "'''"), "'''")
		case "secretGroup":
			r.secretGroup, _ = strconv.Atoi(value)
		case "keywords":
			for _, each := range quotedText.FindAllStringSubmatch(value, -1) {
				r.keywords = append(r.keywords, strings.ToLower(each[1]))
			}
			list = !strings.HasSuffix(value, "]")
		}
	}
	return out
}

var quotedText = regexp.MustCompile(`"([^"]*)"`)

// minCredential is the length of the shortest text that a rule can match, in bytes.
const minCredential = 12

// credentials returns the credentials in a text.
func credentials(text string) []span {
	if len(text) < minCredential {
		return nil
	}
	var out []span
	lower := strings.ToLower(text)
	for _, r := range rules() {
		if !r.mayMatch(lower) {
			continue
		}
		for _, at := range r.compile().FindAllStringSubmatchIndex(text, -1) {
			from, to := at[0], at[1]
			if group := 2 * cmp.Or(r.secretGroup, 1); group < len(at) && at[group] >= 0 && at[group] < at[group+1] {
				from, to = at[group], at[group+1]
			}
			out = append(out, span{from, to})
		}
	}
	return out
}

func (r *rule) mayMatch(lower string) bool {
	for _, keyword := range r.keywords {
		if strings.Contains(lower, keyword) {
			return true
		}
	}
	return false
}
