// SPDX-License-Identifier: Apache-2.0

package render

import (
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// ChangeTexts are the cells of a change in a list, escaped and at full length.
type ChangeTexts struct {
	// Age and Took count up to the time of the list. Reason is why the change failed, or what an open one waits for;
	// empty if nothing is wrong. Each other cell has a text.
	Age, Who, What, Changed, State, Took, Slowest, Reason string
}

// TextsOf returns the cells of a change, as List writes them.
func TextsOf(t *store.Summary, o ListOptions) ChangeTexts {
	o.Wide, o.Whole = false, true
	r := listTrace(t, o)
	cell := func(column int) string { return r.columns[column].text + r.ends[column] }
	return ChangeTexts{
		Age: roughly(t) + duration.HumanDuration(max(0, o.Now.Sub(t.Start))), Who: cell(colWho), What: cell(colWhat),
		Changed: cell(colChanged), State: cell(colOutcome), Took: cell(colDuration), Slowest: cell(colSlowest),
		Reason: r.reason,
	}
}
