// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unprojected are the names of package store that lead around its Access.
var unprojected = []string{
	"Archive", "Batch", "Copier", "Finder", "Gate", "NewGate", "Projection", "Reader", "Record", "Scope", "Seal",
	"Sealed", "Spanner", "Whole",
}

// CheckCallers reports the places in the package of the working directory, apart from its tests, that name
// what leads around store.Access. Permitted are names by file.
func CheckCallers(t *testing.T, permitted map[string][]string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			from, is := s.X.(*ast.Ident)
			if is && from.Name == "store" && slices.Contains(unprojected, s.Sel.Name) &&
				!slices.Contains(permitted[name], s.Sel.Name) {
				t.Errorf("%s: store.%s leads around the projection", set.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}
