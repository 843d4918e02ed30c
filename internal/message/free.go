// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark replaces a value, or the end of a text.
const mark = "…"

// text masks a text of unknown form, or withholds it.
func (l level) text(text string) string {
	mask := l.Text
	if l.refused {
		mask = l.Refused
	}
	text = strings.TrimSpace(unquote.Replace(strings.ToValidUTF8(text, mark)))
	switch {
	case text == "" || text == Withheld:
		return text
	case mask == nil, l.depth >= maxDepth:
		return Withheld
	}
	if !l.refused {
		if at := refusalForm.FindStringIndex(text); at != nil {
			head := l.masked(text[:at[0]], mask, false)
			if strings.HasSuffix(head, Withheld) {
				return head
			}
			return strings.TrimSpace(head + " " + l.inner().ofRefusal().sentence(text[at[0]:]))
		}
	}
	return l.masked(text, mask, l.cut)
}

// sentence cleans the sentence of a refusal that begins a text.
func (l level) sentence(text string) string {
	if out, ok := known[general].match(text, l); ok {
		return out
	}
	if contents.MatchString(text) {
		return Withheld
	}
	return l.denied(text)
}

// denied cleans the words of a policy or a webhook: a refusal, a list of field errors, or any text.
func (l level) denied(text string) string {
	if text == "" || l.Refused == nil || l.depth >= maxDepth {
		return l.text(text)
	}
	if out, ok := known[general].match(text, l); ok {
		return Quote(l.Refused(out))
	}
	if fieldsForm.MatchString(text) {
		return Quote(l.Refused(fields(text, l, false)))
	}
	return l.text(text)
}

// masked masks a text, and removes what no mask can know: the output of programs, invalid values, parts of
// URLs, and words without a beginning or an end. The mask comes first, as long as values are whole.
func (l level) masked(text string, mask func(string) string, cut bool) string {
	cut = cut || isCut(text)
	text, output := withoutOutput(text)
	text = mask(cutWord.ReplaceAllString(oneLine(text), mark))
	text = urls.ReplaceAllStringFunc(withoutParsed(withoutValues(text)), bare)
	text = withoutNamed(login.ReplaceAllString(text, mark+"@"))
	if cut && !output {
		text = withoutLastWord(text)
	}
	text = Quote(text)
	if output {
		text = strings.TrimSpace(text + " " + Withheld)
	}
	return text
}

// Quotes are around text of unknown form.
const openQuote, closeQuote = "“", "”"

// Quote marks a text as one of unknown form. It removes the period at the end of a sentence.
func Quote(text string) string {
	if text = strings.TrimSpace(unquote.Replace(text)); text == "" || text == Withheld {
		return text
	}
	if !strings.HasSuffix(text, "..") {
		text = strings.TrimSuffix(text, ".")
	}
	return openQuote + text + closeQuote
}

// Requote restores the quotes of a part of a message.
func Requote(part string) string {
	if closed := strings.Index(part, closeQuote); closed >= 0 && !strings.Contains(part[:closed], openQuote) {
		part = openQuote + part
	}
	if opened := strings.LastIndex(part, openQuote); opened >= 0 && !strings.Contains(part[opened:], closeQuote) {
		part += closeQuote
	}
	return part
}

var (
	unquote = strings.NewReplacer(openQuote, "", closeQuote, "")
	quoted  = regexp.MustCompile(openQuote + `[^` + closeQuote + `]*` + closeQuote)
)

// Strict returns a clean message, or a part of one, without text of unknown form, as a strict Cleaner does. Where a
// quote lacks its beginning or its end, it withholds everything up to the next one.
func Strict(text string) string {
	if !strings.Contains(text, openQuote) && !strings.Contains(text, closeQuote) {
		return text
	}
	text = quoted.ReplaceAllString(Requote(text), Withheld)
	if at := strings.LastIndex(text, closeQuote); at >= 0 {
		text = Withheld + text[at+len(closeQuote):]
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	// fieldsForm matches the beginning of a list of field errors.
	fieldsForm = regexp.MustCompile(`^\[?` + path + `: (?:` + strings.Join(fieldErrors, "|") + `)`)
	// refusalForm matches the beginning of a refusal inside another text.
	refusalForm = regexp.MustCompile(
		`admission webhook "|ValidatingAdmissionPolicy '|MutatingAdmissionPolicy '|` +
			`\b(?:[A-Za-z][A-Za-z0-9]*)(?:\.[a-z0-9-]+)* "[^"]*" is (?:invalid|forbidden):|` +
			`\b[a-z]+(?:\.[a-z0-9-]+)* is forbidden:|` +
			`\b[A-Z][A-Za-z0-9]* in version "[^"]*" cannot be handled as a |` +
			`failed to create typed patch object|Internal error occurred:|Apply failed with |` +
			`\b(?:denied (?:the )?request|is invalid|is forbidden):|` +
			`(?:[^\s:]+: )?(?:Invalid value|Unsupported value|Duplicate value|Invalid type|Too many|Too few): `,
	)
	// valueForm matches the beginning of the invalid value of a field error.
	valueForm = regexp.MustCompile(
		`\b(?:Invalid value|Unsupported value|Duplicate value|Invalid type|Not found|Too many|Too few|Too short): `,
	)
	// contents matches the kinds with confidential content.
	contents = regexp.MustCompile(`(?i)\b(?:secret|configmap)s?\b`)
	urls     = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>()\[\]{},;]*`)
	// cutWord matches a word with an ellipsis at its beginning, in it or at its end.
	cutWord = regexp.MustCompile(`\S*[\pL\pN](?:\.{3,}|…)\S*|\S*(?:\.{3,}|…)[\pL\pN]\S*`)
	// login matches a user and a password before a host, without a scheme.
	login = regexp.MustCompile(`[^\s"'@/(]+:[^\s"'@/(]+@`)
	// outputForm matches the words before the output of a program, or before the command of a failed one.
	outputForm = regexp.MustCompile(
		`(?i)\bexit(?:ed with)?(?: status| code){1,2}:? ?[0-9]+\)?(?:\.?:|\.?\s*\n)|` +
			`\b(?:std ?out|std ?err|output|logs?)\b["']?(?::|=|\s*\n)|\bexec: |` + "`[^`]*` failed",
	)
)

// withoutOutput cuts a text before the output of a program, or before its command. A quotation of them
// has no form, so nothing after it is kept.
func withoutOutput(text string) (head string, cut bool) {
	at := outputForm.FindStringIndex(text)
	if at == nil {
		return text, false
	}
	end := at[1]
	if text[at[0]] == '`' {
		end = at[0]
	}
	if rest := strings.TrimSpace(text[end:]); rest == "" || rest == Withheld {
		return text, false
	}
	return text[:end], true
}

// withoutValues removes the values of field errors, unless they are numbers or booleans. A value of
// another form than a quotation has no certain end.
func withoutValues(text string) string {
	var b strings.Builder
	for {
		at := valueForm.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(text[:at[1]])
		text = text[at[1]:]
		value := valueIn(text)
		switch {
		case strings.HasPrefix(text, mark), strings.HasPrefix(text, Withheld):
		case value == "":
			return b.String() + Withheld
		case plainForm.FindString(value) != value && !amountForm.MatchString(value):
			b.WriteString(mark)
			text = text[len(value):]
		}
	}
	return b.String() + text
}

// parsedForm matches the words of a parser before the text that it cannot read.
var parsedForm = regexp.MustCompile(
	`(?i)\b((?:pars(?:e|ing)|unmarshal(?:l?ing)?(?: !![a-z]+)?|decod(?:e|ing)|convert(?:ing)?|` +
		`invalid (?:port|syntax)|duration|escape|near|literal|value|input|got)[:=]? )` +
		"(?:\"(?:[^\"\\\\]|\\\\.)*\"|'[^']*'|`[^`]*`)",
)

// withoutParsed removes the texts that a parser cannot read: a broken configuration quotes its values so.
func withoutParsed(text string) string { return parsedForm.ReplaceAllString(text, "${1}"+mark) }

// namedForm matches a word for a credential, and the text that follows as its value.
var namedForm = regexp.MustCompile(
	`(?i)\b([a-z0-9_-]*(?:passw(?:or)?d|passphrase|pwd|token|secret|api[ _-]?key|credential)s?["']?` +
		`(?:\s*[=:]|\s+is)\s*)("[^"]{6,}"|'[^']{6,}'|[^\s"',;]{6,})`,
)

// withoutNamed removes values behind the word for a credential: "the token is a1b2c3". A word of letters is
// no value, unless it is assigned or quoted.
func withoutNamed(text string) string {
	return namedForm.ReplaceAllStringFunc(text, func(part string) string {
		at := namedForm.FindStringSubmatchIndex(part)
		name, value := part[:at[3]], part[at[4]:]
		if !strings.ContainsAny(name, "=") && !strings.ContainsAny(value, "0123456789\"'") || value == Withheld {
			return part
		}
		return name + mark
	})
}

var bareForm = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/?#@]*@)?(` + host + `)?`)

// bare returns a URL without user, path, query and fragment.
func bare(url string) string {
	at := bareForm.FindStringSubmatch(url)
	rest := url[len(at[0]):]
	if at[2] == "" || strings.Contains(rest, "@") {
		return at[1] + mark
	}
	return at[1] + at[2] + trailing.FindString(rest)
}

// trailing matches punctuation of a sentence after a URL.
var trailing = regexp.MustCompile(`[.:!]*$`)

// lengths are the lengths at which programs cut their messages, in bytes.
var lengths = []int{128, 250, 253, 255, 256, 500, 512, 1000, 1021, 1023, 1024, 2000, 2048, 4095, 4096, 32768}

// isCut reports whether the end of a text may be missing.
func isCut(text string) bool {
	if strings.HasSuffix(text, " "+mark) || strings.HasSuffix(text, Withheld) {
		return false
	}
	return slices.Contains(lengths, len(text)) || len(text) > maxInput || dots.MatchString(text) ||
		strings.HasSuffix(text, "(truncated)") || strings.HasSuffix(text, "[truncated]")
}

// dots matches an ellipsis after a word at the end of a text or of a quotation.
var dots = regexp.MustCompile(`[\pL\pN](?:\.\.\.|…)["')\]]*$`)

// withoutLastWord replaces the last word of a text: it may be a part of a value, too short to be
// recognized.
func withoutLastWord(text string) string {
	at := strings.LastIndexFunc(text, unicode.IsSpace)
	if at < 0 {
		return mark
	}
	return strings.TrimRightFunc(text[:at], unicode.IsSpace) + " " + mark
}

// upTo returns the beginning of a text, at most n bytes, without a part of a character.
func upTo(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
