// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxMethods is the bound of methods of one type, with those of embedded types. A type with more has several tasks.
const maxMethods = 40

// TestReceivers counts the methods of each type in app/internal, apart from tests and generated code. Methods
// promoted from embedded types and interfaces of these rooms count. Those from other modules do not.
func TestReceivers(t *testing.T) {
	types := readTypes(t)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if types[name].isInterface {
			continue
		}
		if n := len(methodSet(types, name, map[string]bool{})); n > maxMethods {
			t.Errorf("%s has %d methods, more than %d: divide it", name, n, maxMethods)
		}
	}
}

// typeDecl is one type, named "room.Type".
type typeDecl struct {
	methods     []string
	embedded    []string // names of types
	isInterface bool
}

// methodSet returns the names of a type's methods. Visited has the types on the way.
func methodSet(types map[string]*typeDecl, name string, visited map[string]bool) map[string]bool {
	all := map[string]bool{}
	decl := types[name]
	if decl == nil || visited[name] {
		return all
	}
	visited[name] = true
	for _, m := range decl.methods {
		all[m] = true
	}
	for _, e := range decl.embedded {
		maps.Copy(all, methodSet(types, e, visited))
	}
	return all
}

// readTypes returns the types in app/internal.
func readTypes(t *testing.T) map[string]*typeDecl {
	t.Helper()
	types := map[string]*typeDecl{}
	get := func(name string) *typeDecl {
		if types[name] == nil {
			types[name] = &typeDecl{}
		}
		return types[name]
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution // comments show generated code
	for room, files := range goFiles(t, "../../internal") {
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(file) {
				continue
			}
			imports := importNames(t, file)
			for _, decl := range file.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					if decl.Recv != nil {
						d := get(typeName(decl.Recv.List[0].Type, room, imports))
						d.methods = append(d.methods, decl.Name.Name)
					}
				case *ast.GenDecl:
					for _, spec := range decl.Specs {
						if spec, ok := spec.(*ast.TypeSpec); ok {
							get(room+"."+spec.Name.Name).describe(spec.Type, room, imports)
						}
					}
				}
			}
		}
	}
	return types
}

// describe adds the embedded types, and the methods of an interface.
func (d *typeDecl) describe(expr ast.Expr, room string, imports map[string]string) {
	var fields *ast.FieldList
	switch expr := expr.(type) {
	case *ast.StructType:
		fields = expr.Fields
	case *ast.InterfaceType:
		fields, d.isInterface = expr.Methods, true
	default:
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			d.embedded = append(d.embedded, typeName(f.Type, room, imports))
		}
		for _, name := range f.Names {
			if d.isInterface {
				d.methods = append(d.methods, name.Name)
			}
		}
	}
}

// importNames returns the rooms that a file imports, by the name of the package in the file.
func importNames(t *testing.T, file *ast.File) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, spec := range file.Imports {
		pkg, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		room, ok := strings.CutPrefix(pkg, rooms)
		switch {
		case !ok:
		case spec.Name != nil:
			names[spec.Name.Name] = room
		default:
			names[path.Base(room)] = room
		}
	}
	return names
}

// typeName returns "room.Type" of a named type, also behind a pointer or with type arguments, and "" of types from
// other modules.
func typeName(expr ast.Expr, room string, imports map[string]string) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return room + "." + expr.Name
	case *ast.StarExpr:
		return typeName(expr.X, room, imports)
	case *ast.IndexExpr:
		return typeName(expr.X, room, imports)
	case *ast.IndexListExpr:
		return typeName(expr.X, room, imports)
	case *ast.SelectorExpr:
		if pkg, ok := expr.X.(*ast.Ident); ok && imports[pkg.Name] != "" {
			return imports[pkg.Name] + "." + expr.Sel.Name
		}
	}
	return ""
}

// TestMethodSet counts embedded types and interfaces of other rooms, each name once, also in a circle.
func TestMethodSet(t *testing.T) {
	types := map[string]*typeDecl{
		"a.Outer":  {methods: []string{"Run", "Stop"}, embedded: []string{"b.Inner", ""}},
		"b.Inner":  {methods: []string{"Stop", "Wait"}, embedded: []string{"b.Reader", "a.Outer"}},
		"b.Reader": {methods: []string{"Read"}, isInterface: true},
	}
	got := slices.Sorted(maps.Keys(methodSet(types, "a.Outer", map[string]bool{})))
	if want := []string{"Read", "Run", "Stop", "Wait"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
