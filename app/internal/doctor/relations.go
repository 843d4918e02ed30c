// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// checkRelations names the relations of the configuration that have not matched.
func checkRelations(f *Facts) Check {
	s := f.server()
	if s == nil || len(s.From.Relations) == 0 {
		return none
	}
	c := Check{Name: "relations", Status: OK}
	var idle []string
	for _, r := range s.From.Relations {
		if r.Matches == 0 {
			idle = append(idle, neverMatched(&r))
		}
	}
	all := plural(len(s.From.Relations), "relation")
	if len(idle) == 0 {
		c.Found = all + "; objects match by each"
		return c
	}
	c.Found = fmt.Sprintf("%d of %s never matched: %s", len(idle), all, some(idle))
	if !s.From.Watch.Watching || s.counted() < young {
		c.Status = Unknown
		return c
	}
	c.Status = Advice
	c.Lose = "the causes of writes that these relations are to show"
	c.Add = []Lines{{
		Where: "a shell: compare an object of each kind with relations[].match in the configuration of lifeline serve",
		Text:  compareLines(s.From.Relations),
	}}
	return c
}

// neverMatched describes a relation without a match, and the objects seen.
func neverMatched(r *api.Relation) string {
	side := func(kind string, k api.RelationKeys) string {
		if k.Keyed+k.Keyless == 0 {
			return "no " + kind + " was seen"
		}
		return fmt.Sprintf("%d of %s of %s have a key", k.Keyed, plural(int(k.Keyed+k.Keyless), "version"), kind)
	}
	return fmt.Sprintf("%s (%s; %s)", r.Name, side(r.From, r.Causes), side(r.To, r.Effects))
}

// maxCompared bounds the printed commands.
const maxCompared = 4

// compareLines prints the objects of the relations without a match.
func compareLines(all []api.Relation) string {
	var b strings.Builder
	n := 0
	for _, r := range all {
		if r.Matches > 0 {
			continue
		}
		if n++; n > maxCompared {
			break
		}
		fmt.Fprintf(
			&b,
			"kubectl get %s,%s -A -o yaml | less # %s\n",
			shellWord(r.From),
			shellWord(r.To),
			shellWord(r.Name),
		)
	}
	return b.String()
}

// shellWord returns text without characters that a shell interprets. Users copy the lines.
func shellWord(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, text)
}
