// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strings"
	"testing"
)

// TestTemplates checks that each template compiles and that its output is stable.
func TestTemplates(t *testing.T) {
	examples := strings.NewReplacer(
		"<apis>",
		"a.example.com/v1: not found",
		"<bare>",
		"Deployment",
		"<demands>",
		"limits.cpu for: web,side; limits.memory for: web",
		"<host>",
		"[fd00::1]:8080",
		"<metric>",
		"cpu resource utilization (percentage of request)",
		"<network>",
		"i/o timeout",
		"<withheld>",
		Withheld,
		"<object>",
		"system:web-1",
		"<probed>",
		"HTTP probe failed with statuscode: 500",
		"<remaining>",
		"pods. has 3 resource instances",
		"<rescale>",
		"All metrics below target",
		"<amounts>",
		"pods=1",
		"<choices>",
		`"A", 'B.c' and "D"`,
		"<conflicts>",
		`conflict with "a": .b`,
		"<decoded>",
		Withheld,
		"<denied>",
		Withheld,
		"<output>",
		Withheld,
		"<refusal>",
		Withheld,
		"<date>",
		"Mon, 02 Jan 2006 15:04:05 +0000",
		"<duration>",
		"2.5s",
		"<field>",
		".spec.replicas",
		"<fields>",
		"spec.x: Required value",
		"<gotype>",
		"[]v1.EnvVar",
		"<image>",
		"reg.example/app:1",
		"<kind>",
		"Deployment.apps",
		"<limits>",
		"maximum cpu usage per Pod is 1, but limit is 2",
		"<message>",
		"not found",
		"<method>",
		"Get",
		"<name>",
		"shop/web-1",
		"<names>",
		"web side",
		"<number>",
		"3",
		"<optional>",
		"",
		"<optionalimage>",
		"",
		"<path>",
		"/run/x.sock",
		"<policies>",
		"privileged",
		"<probe>",
		"Startup",
		"<quantity>",
		"100Mi",
		"<quoted>",
		`"not found"`,
		"<reasons>",
		"3 Too many pods.",
		"<resource>",
		"deployments.apps",
		"<rest>",
		" "+Withheld,
		"<taint>",
		"a.b/c: d",
		"<text>",
		Withheld,
		"<typed>",
		".spec.x: field not declared in schema",
		"<url>",
		"https://a.b:443",
		"<user>",
		"system:admin",
		"<word>",
		"Running",
	)
	before := ""
	for line := range strings.Lines(source) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		switch line {
		case "== probe":
			before = "Liveness probe failed: "
		case "== detail":
			before = `Deployment.apps "web" is invalid: spec.x: Invalid value: `
		}
		if strings.HasPrefix(line, "== ") {
			continue
		}
		for _, slot := range slotName.FindAllString(line, -1) {
			if _, ok := slots[strings.Trim(slot, "<>")]; !ok {
				t.Errorf("%q has the unknown slot %s", line, slot)
			}
		}
		example := before + strings.TrimSpace(examples.Replace(line))
		if got := Clean(example); got != example {
			t.Errorf("%q became %q", example, got)
		}
	}
}
