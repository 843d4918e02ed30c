// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"strings"
)

// maxReasons limits the different reasons of one plugin in one attempt. A plugin can put values of
// the node into its reasons.
const maxReasons = 8

// maxExamples limits the named nodes of a reason.
const maxExamples = 3

// rejections are the nodes that a plugin or an extender rejected.
type rejections struct {
	nodes   int
	reasons []reason
}

// reason is why nodes were rejected.
type reason struct {
	text     string
	nodes    int
	examples []string
}

// add counts a node once, and each of its reasons, as Kubernetes does in its message. So the counts of
// reasons can exceed the number of nodes in sum.
func (r *rejections) add(node string, reasons ...string) {
	r.nodes++
	for _, text := range reasons {
		r.count(node, text)
	}
}

// count counts a node for a reason. Reasons above the limit are not kept.
func (r *rejections) count(node, text string) {
	at := slices.IndexFunc(r.reasons, func(r reason) bool { return r.text == text })
	if at < 0 {
		if len(r.reasons) == maxReasons {
			return
		}
		at = len(r.reasons)
		r.reasons = append(r.reasons, reason{text: text})
	}
	of := &r.reasons[at]
	of.nodes++
	if len(of.examples) < maxExamples {
		of.examples = append(of.examples, node)
	}
}

// encode appends the attributes of the rejections.
func (r *rejections) encode(w *wire, cleaned *cleaner) {
	w.int(keyRejected, int64(r.nodes))
	if r.nodes == 0 {
		return
	}
	slices.SortFunc(r.reasons, func(a, b reason) int {
		if a.nodes != b.nodes {
			return b.nodes - a.nodes
		}
		return strings.Compare(a.text, b.text)
	})
	var texts, examples []string
	var counts []int64
	for _, r := range r.reasons {
		texts = append(texts, cleaned.text(r.text))
		counts = append(counts, int64(r.nodes))
		examples = append(examples, strings.Join(r.examples, ", "))
	}
	w.strings(keyReasons, texts)
	w.ints(keyCounts, counts)
	w.strings(keyExamples, examples)
}
