// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// none stands for a plugin that did not run.
const none = "–"

// Print prints a table of the plugins that differ, and of the nodes. Scores are means over the Pods:
// of the chosen node, and of the second best.
func Print(w io.Writer, before, after Attempts) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\tBEFORE\tAFTER")
	names := slices.Concat(slices.Collect(maps.Keys(before.plugins)), slices.Collect(maps.Keys(after.plugins)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, now := before.plugins[name].words(name), after.plugins[name].words(name)
		if old != now {
			fmt.Fprintf(table, "%s\t%s\t%s\n", clean(name), old, now)
		}
	}
	fmt.Fprintf(table, "Pods\t%s\t%s\n", placements(before.nodes), placements(after.nodes))
	return table.Flush()
}

// words describes what a plugin did. p may be nil.
func (p *plugin) words(name string) string {
	switch {
	case p == nil:
		return none
	case strings.HasPrefix(name, "Filter "):
		return fmt.Sprintf("%d nodes rejected", p.rejected)
	case p.scored == 0:
		return "no score"
	case p.second == 0:
		return fmt.Sprintf("score %d", p.scores/p.scored)
	default:
		return fmt.Sprintf("score %d, second %d", p.scores/p.scored, p.runnerUp/p.second)
	}
}

func placements(nodes map[string]int) string {
	var out []string
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		out = append(out, fmt.Sprintf("%d on %s", nodes[node], clean(node)))
	}
	return strings.Join(out, ", ")
}

// clean removes control characters: names come from the cluster.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, name)
}
