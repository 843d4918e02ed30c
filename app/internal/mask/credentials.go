// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// generic is the rule of gitleaks that matches any assignment with a random text.
const generic = "generic-api-key"

// rule is a rule of gitleaks. Its threshold of entropy and its lists of harmless texts are not used: a
// masked word is better than a leaked one.
type rule struct {
	ID       string
	Regex    string
	Keywords []string
	// SecretGroup is the number of the group with the credential; 0 means the first.
	SecretGroup int
	compile     func() *regexp.Regexp
}

// rules returns the rules for texts. The expressions have no backtracking, and are compiled when a text
// first has one of their keywords.
var rules = sync.OnceValue(func() []*rule {
	var file struct{ Rules []*rule }
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		panic("the rules of gitleaks cannot be read: " + err.Error()) // TestRules reads them
	}
	var out []*rule
	for _, r := range file.Rules {
		if r.ID == generic || r.Regex == "" || len(r.Keywords) == 0 {
			continue // rules about paths have no expression
		}
		r.compile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.Regex) })
		out = append(out, r)
	}
	return out
})

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
			if group := 2 * cmp.Or(r.SecretGroup, 1); group < len(at) && at[group] >= 0 && at[group] < at[group+1] {
				from, to = at[group], at[group+1]
			}
			out = append(out, span{from, to})
		}
	}
	return out
}

func (r *rule) mayMatch(lower string) bool {
	for _, keyword := range r.Keywords {
		if strings.Contains(lower, strings.ToLower(keyword)) {
			return true
		}
	}
	return false
}
