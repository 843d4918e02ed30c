// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
)

// checkHealth names the kinds with objects that show nothing of their state. Their changes count as
// converged once nothing more happens.
func checkHealth(f *Facts) Check {
	s := f.server()
	if s == nil || len(s.From.Watch.Silent) == 0 {
		return none
	}
	silent := s.From.Watch.Silent
	c := Check{Name: "health", Status: Advice}
	c.Found = fmt.Sprintf("%s with objects, but without any sign of their state: %s",
		plural(len(silent), "kind"), some(silent))
	c.Lose = "when changes of these kinds have taken effect: they count as converged, unconfirmed, " +
		"once nothing more happens"
	c.Add = []Lines{{
		Where: "the configuration of lifeline serve, if a field of the status shows the state (" + docs.Health + ")",
		Text:  healthLines(silent),
	}}
	return c
}

// maxRules bounds the printed rules.
const maxRules = 4

// healthLines returns a rule to complete for each kind.
func healthLines(silent []string) string {
	var b strings.Builder
	b.WriteString("health:\n")
	for _, name := range silent[:min(len(silent), maxRules)] {
		of := schema.ParseGroupKind(name)
		fmt.Fprintf(&b, "- group: %s\n  kind: %s\n  current: status.state == 'Ready' # a field of your kind\n",
			shellWord(of.Group), shellWord(of.Kind))
	}
	return b.String()
}
