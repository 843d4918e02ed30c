// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Summary writes the traces as Markdown for the page of a CI job: for each trace the verdict, a table of
// the changed objects, and the tree.
func Summary(w io.Writer, traces []*span.Trace, o Options) error {
	o.Color = false
	var out bytes.Buffer
	for _, t := range traces {
		root := t.Root()
		if root == nil {
			continue
		}
		fmt.Fprintf(&out, "### %s: %s\n\n", code(what(root, object.Ref{}, true)), markdown(verdictOf(t, root, o).text))
		if next := insight.Attribute(root, span.KeyReasonNext); next != "" && t.Outcome != span.Converged {
			fmt.Fprintf(&out, "Next: %s\n\n", code(escape(next)))
		}
		out.WriteString("| object | changed | outcome | took |\n| --- | --- | --- | --- |\n")
		objects := changedObjects(t)
		for _, s := range objects {
			outcome := outcomeText(s)
			if reason := reasonOf(t, s); reason != "" && len(objects) > 1 { // else the title has it
				outcome += ": " + escape(reason)
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", markdown(objectText(s.Object)),
				markdown(strings.TrimPrefix(edited(s), "changed ")), markdown(outcome), length(s, o.Now))
		}
		var tree bytes.Buffer
		if err := Tree(&tree, []*span.Trace{t}, o); err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n<details><summary>Trace %s</summary>\n\n```text\n%s```\n\n</details>\n\n", t.ID,
			strings.ReplaceAll(tree.String(), "```", "'''"))
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	return nil
}

// changedObjects returns the reconciliations at the top of the trace: of the objects that were written,
// not of those that followed.
func changedObjects(t *span.Trace) []*span.Span {
	root := t.Root()
	var out []*span.Span
	for _, s := range t.Spans {
		top := s == root || root.Name == span.NameRun && s.Parent == root.ID
		if top && s.Origin == nil && s.Object.Name != "" {
			out = append(out, s)
		}
	}
	return out
}

// reasonOf returns the reason of a changed object; "" if there is none.
func reasonOf(t *span.Trace, s *span.Span) string {
	if s == t.Root() {
		return t.Reason
	}
	return insight.Attribute(s, span.KeyReasonMessage)
}

// code returns text as code in Markdown.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// markdown escapes the characters with a meaning in Markdown and HTML.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		case '\\', '`', '*', '_', '[', ']', '|', '#', '~':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inSeconds returns a duration for JUnit.
func inSeconds(s *span.Span, now time.Time) string {
	return fmt.Sprintf("%.3f", max(0, s.Duration(now)).Seconds())
}
