// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// openWords are the words that newcomers try for the outcome of an open lifecycle.
var openWords = []string{"open", "running", "stuck", "held", "pending", "active", "progressing", "in progress", "none"}

// valueSynonyms has the words that newcomers try for the values of outcome, reason and verb.
var valueSynonyms = map[string]string{
	"success": "converged", "succeeded": "converged", "successful": "converged", "ok": "converged",
	"ready": "converged", "done": "converged", "complete": "converged", "completed": "converged",
	"error": "failed", "failure": "failed", "replaced": "superseded",
	"patch": "update", "apply": "update", "replace": "update", "edit": "update",
	"oomkilled": "out_of_memory", "crashloopbackoff": "crash_loop",
	"imagepullbackoff": "image_pull", "errimagepull": "image_pull",
}

// possible returns an error if a field with few values is compared with another one at e. It would
// match silently always or never.
func (b *builder) possible(e ast.Expr, field, value node) *Error {
	c, isColumn := field.(column)
	v, isConstant := value.(constant)
	if !isColumn || !isConstant {
		return nil
	}
	text, _ := v.value.(string)
	if c.field.Name == "kind" {
		if meant := kindOf(text); meant != "" && meant != text {
			return fault(
				b.info, e, "kind has no value "+strconv.Quote(clipped(text)), "did you mean "+strconv.Quote(meant)+"?",
			)
		}
	}
	if c.field.Values == nil {
		return nil
	}
	if text == "" || slices.Contains(c.field.Values, text) {
		return nil
	}
	return fault(b.info, e, c.field.Name+" has no value "+strconv.Quote(clipped(text)), valueHint(c.field, text))
}

// kindOf returns the kind with a name as kubectl takes it, such as pod, pods or po; "" if it is none of Kubernetes' or
// of a known project.
func kindOf(name string) string {
	if slices.ContainsFunc(kind.All(), func(k *kind.Kind) bool {
		return k.Kind.Kind == name
	}) {
		return name
	}
	for _, k := range kind.All() {
		if strings.EqualFold(name, k.Kind.Kind) || strings.EqualFold(name, k.Resource) ||
			k.Short != "" && name == k.Short {
			return k.Kind.Kind
		}
	}
	return ""
}

// clipped returns the beginning of a value for an error.
func clipped(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// valueHint returns the way out for an impossible value of a field.
func valueHint(f *Field, wrong string) string {
	const listed = 10
	word := strings.ToLower(strings.TrimSpace(wrong))
	if f.Name == outcome && slices.Contains(openWords, word) {
		return `write outcome == "" for open lifecycles`
	}
	near := valueSynonyms[word]
	if !slices.Contains(f.Values, near) {
		near = nearest(strings.NewReplacer(" ", "_", "-", "_").Replace(word), f.Values)
	}
	var hints []string
	if len(f.Values) <= listed {
		hints = append(hints, f.Name+" has the values "+strings.Join(f.Values, ", "))
	}
	if near != "" {
		hints = append(hints, fmt.Sprintf("did you mean %q?", near))
	}
	if hints == nil {
		return fmt.Sprintf("%s has %d values, such as %q; all of them: %s",
			f.Name, len(f.Values), f.Values[0], docs.Reasons)
	}
	return strings.Join(hints, "; ")
}
