// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of escaped texts, in bytes. A section has at most 3000 characters, an element of a context 2000.
const (
	maxSlackReason = 1400
	maxSlackText   = 600
)

// slackPayload is the payload of an incoming webhook. Text is for notifications.
type slackPayload struct {
	Text        string       `json:"text"`
	Mrkdwn      bool         `json:"mrkdwn"`
	Blocks      []slackBlock `json:"blocks"`
	UnfurlLinks bool         `json:"unfurl_links"`
	UnfurlMedia bool         `json:"unfurl_media"`
}

// slackBlock is a block of type section, which has Text, or of type context, which has Elements.
type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

// slackText is of type plain_text, which has no styles, links and mentions, or of type mrkdwn.
type slackText struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji,omitempty"`
}

// slackPlain returns a text from a cluster.
func slackPlain(text string) *slackText { return &slackText{"plain_text", text, new(bool)} }

// slackMessage returns the notice as a message for an incoming webhook of Slack.
func slackMessage(n *Notice, o *origin) ([]byte, error) {
	headline := n.title() + ": " + slackEscape(n.what(), maxSlackReason)
	lines := []string{headline}
	if why := n.why(); why != "" && !n.ends() {
		lines = append(lines, "Cause: "+slackEscape(why, maxSlackText))
	}
	if n.Next != "" && !n.ends() {
		lines = append(lines, "Next: "+slackEscape(n.Next, maxSlackText))
	}
	var notes []string
	for _, note := range []struct{ name, text string }{
		{"", n.subject()}, {"since ", n.age()}, {"", n.Category}, {"problem ", n.Problem},
		{"regression ", n.Regression},
	} {
		if note.text != "" {
			notes = append(notes, note.name+slackEscape(note.text, maxSlackText))
		}
	}
	about := slackBlock{Type: "context", Elements: []slackText{*slackPlain(strings.Join(notes, " · "))}}
	if link := o.link(n); link != "" {
		about.Elements = append(about.Elements, slackText{Type: "mrkdwn", Text: fmt.Sprintf("<%s|Lifeline>", link)})
	}
	return json.Marshal(slackPayload{
		Text:   headline,
		Blocks: []slackBlock{{Type: "section", Text: slackPlain(strings.Join(lines, "\n"))}, about},
	})
}

// slackControl are the control characters of Slack's texts. Without them a text has no link and no mention.
var slackControl = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackEscape escapes a text from a cluster, and cuts the result to at most limit bytes.
func slackEscape(text string, limit int) string {
	var out strings.Builder
	for _, r := range text {
		next := slackControl.Replace(string(r))
		if out.Len()+len(next)+len("…") > limit {
			return out.String() + "…"
		}
		out.WriteString(next)
	}
	return out.String()
}
