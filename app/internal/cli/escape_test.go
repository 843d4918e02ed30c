// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// TestWrite: JSON and YAML have escapes for what a terminal would interpret.
func TestWrite(t *testing.T) {
	v := map[string]string{"name": "gnp\u202eexe \U000e0041 <a>"}
	for want, write := range map[string]func(io.Writer, any) error{
		`{"name":"gnp\u202eexe \udb40\udc41 <a>"}` + "\n":      cli.WriteJSON,
		"---\nname: " + `"gnp\u202eexe \U000E0041 <a>"` + "\n": cli.WriteYAML,
	} {
		var got bytes.Buffer
		if err := write(&got, v); err != nil || got.String() != want {
			t.Errorf("got %q, %v, want %q", &got, err, want)
		}
	}
}
