// SPDX-License-Identifier: Apache-2.0

package message

import (
	_ "embed" // the templates
	"regexp"
	"strings"
	"sync"
)

//go:embed templates.txt
var source string

// The groups of templates. Each has a heading in templates.txt, except general.
const (
	general = ""
	network = "network"
	probe   = "probe"
	detail  = "detail"
)

// known holds the templates of each group, in the order of the file.
var known = parse(source)

// templates are the templates of one group, by their first byte. Templates that begin with a slot
// are tried last.
type templates struct {
	byFirst [256][]*template
	slotted []*template
}

// template is one known sentence.
type template struct {
	// text is the template. prefix is the text before its first slot, and literal the longest text
	// between slots. A matching message contains both.
	text, prefix, literal string
	// compile returns the expression and the slots of its groups. It runs when a message first has
	// the prefix and the literal.
	compile func() (*regexp.Regexp, []slot)
}

func parse(source string) map[string]*templates {
	all := &templates{}
	groups := map[string]*templates{general: all}
	for line := range strings.Lines(source) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if heading, found := strings.CutPrefix(line, "== "); found {
			all = &templates{}
			groups[heading] = all
			continue
		}
		prefix, _, _ := strings.Cut(line, "<")
		t := &template{text: line, prefix: prefix, literal: longest(slotName.Split(line, -1))}
		t.compile = sync.OnceValues(t.expression)
		if prefix == "" {
			all.slotted = append(all.slotted, t)
		} else {
			all.byFirst[prefix[0]] = append(all.byFirst[prefix[0]], t)
		}
	}
	return groups
}

func longest(texts []string) string {
	out := ""
	for _, text := range texts {
		if len(text) > len(out) {
			out = text
		}
	}
	return out
}

var slotName = regexp.MustCompile(`<([a-z]+)>`)

// expression translates the template to a regular expression.
func (t *template) expression() (*regexp.Regexp, []slot) {
	var b strings.Builder
	var found []slot
	b.WriteString(`(?s)^`)
	rest := t.text
	for {
		at := slotName.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		s := slots[rest[at[2]:at[3]]]
		b.WriteString(regexp.QuoteMeta(rest[:at[0]]) + "(" + s.form + ")")
		found = append(found, s)
		rest = rest[at[1]:]
	}
	b.WriteString(regexp.QuoteMeta(rest) + `$`)
	return regexp.MustCompile(b.String()), found
}

// match returns the message as cleaned by the first matching template.
func (all *templates) match(text string, l level) (string, bool) {
	for _, list := range [][]*template{all.byFirst[text[0]], all.slotted} {
		for _, t := range list {
			if out, ok := t.match(text, l); ok {
				return out, true
			}
		}
	}
	return "", false
}

func (t *template) match(text string, l level) (string, bool) {
	if !strings.HasPrefix(text, t.prefix) || !strings.Contains(text, t.literal) {
		return "", false
	}
	if t.prefix == t.text {
		return text, text == t.text
	}
	expression, slots := t.compile()
	at := expression.FindStringSubmatchIndex(text)
	if at == nil {
		return "", false
	}
	var b strings.Builder
	end, confidential := 0, false
	for i, s := range slots {
		from, to := at[2*i+2], at[2*i+3]
		b.WriteString(text[end:from])
		value := text[from:to]
		switch {
		case s.clean == nil:
			b.WriteString(value)
			confidential = confidential || s.kind && Confidential(value)
		case confidential && s.withoutValues != nil:
			b.WriteString(s.withoutValues(value, l.inner()))
		case confidential:
			b.WriteString(Withheld)
		default:
			b.WriteString(s.clean(value, l.inner()))
		}
		end = to
	}
	b.WriteString(text[end:])
	return b.String(), true
}
