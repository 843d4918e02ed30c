// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestUnusedMethods looks in the built program for exported methods that nothing calls. The linker
// keeps them all, and the program grows by a half, if a reachable function looks methods up by a
// name that is known only at run time.
func TestUnusedMethods(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lifeline")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "grpcnotrace", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build lifeline: %v\n%s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("time.Time.String")) {
		t.Fatal("the program has no names of functions: this test cannot see unused methods")
	}
	for _, method := range []string{"time.Time.GobEncode", "math/big.(*Int).GobEncode"} {
		if bytes.Contains(program, []byte(method)) {
			t.Errorf(`the program contains the unused method %s. Find the function that looks up methods:
	go build -tags grpcnotrace -ldflags=-dumpdep -o /dev/null ./cmd/lifeline 2>&1 | grep -m1 ' <ReflectMethod>$'
Then follow its callers in the same output, up to a function of this project or the init of an
imported package. Usual causes are text/template and a package that imports it. See "The size of the binary" in docs/dependencies.md.`, method)
		}
	}
}
