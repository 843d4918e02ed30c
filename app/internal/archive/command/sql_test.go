// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
)

func TestSQL(t *testing.T) {
	dataDir := filled(t, "cluster-1")
	run := func(statement, output string) (code int, out string, err error) {
		var buffer, log bytes.Buffer
		s := command.SQL{
			Options: command.Options{
				Streams: genericiooptions.IOStreams{Out: &buffer, ErrOut: &log}, DataDir: dataDir,
			},
			Statement: statement, Output: output,
		}
		if err := s.Validate(); err != nil {
			return 1, "", err
		}
		code, err = s.Run(t.Context())
		return code, buffer.String() + log.String(), err
	}
	const values = "SELECT 'a' AS name, NULL AS empty, 1.5 AS number, x'00ff' AS raw, '=1+1' AS formula, " +
		"char(27) || 'x' AS control FROM v_traces LIMIT 1"
	for output, want := range map[string]string{
		"table": "name   empty   number   raw    formula   control\na      -       1.5      00ff   =1+1      \\x1bx\n",
		"json":  `[{"name":"a","empty":null,"number":1.5,"raw":"00ff","formula":"=1+1","control":"\u001bx"}]` + "\n",
		"csv":   "name,empty,number,raw,formula,control\r\na,,1.5,00ff,'=1+1,\\x1bx\r\n",
	} {
		if code, out, err := run(values, output); code != 0 || err != nil || out != want {
			t.Errorf("%s: code %d, %v:\n%q\n%q", output, code, err, out, want)
		}
	}
	const infinite = "SELECT 1e400 AS b, -1e400 AS c"
	if code, out, err := run(infinite, "json"); code != 0 || err != nil || out != `[{"b":null,"c":null}]`+"\n" {
		t.Errorf("infinite numbers: code %d, %v: %s", code, err, out)
	}
	for statement, want := range map[string]string{
		"SELECT data FROM parts": "cannot answer the statement: only SELECT from the views is permitted: " +
			"v_lifecycles, v_traces, v_writes, v_spans",
		"SELECT absent FROM v_traces": "no such column: absent",
	} {
		if code, out, err := run(statement, "json"); code != 1 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: code %d, %v: %s", statement, code, err, out)
		}
	}
	if _, _, err := run("SELECT 1", "yaml"); err == nil {
		t.Error("an unknown output is accepted")
	}
}
