// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rooms are the packages whose path begins with this.
const rooms = "github.com/kube-lifeline/lifeline/app/internal/"

// TestRooms compares the tables of docs/architecture with the imports of each room, apart from tests: the rooms
// used, the order of the wings, and the standard library in rooms marked as pure.
func TestRooms(t *testing.T) {
	documented := readTables(t)
	imported := readImports(t)
	for name := range documented {
		if _, ok := imported[name]; !ok {
			t.Errorf("%s has a row in docs/architecture, and no package", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imported)) {
		room, ok := documented[name]
		if !ok {
			t.Errorf("%s has no row in docs/architecture", name)
			continue
		}
		var used []string
		for _, pkg := range imported[name] {
			other, ok := strings.CutPrefix(pkg, rooms)
			switch {
			case ok && documented[other].wing > room.wing:
				t.Errorf("%s imports %s, which is in a later wing", name, other)
			case room.pure && impure.MatchString(pkg):
				t.Errorf("%s is marked as pure, and imports %s", name, pkg)
			}
			if ok {
				used = append(used, other)
			}
		}
		if diff := cmp.Diff(room.uses, used); diff != "" {
			t.Errorf("%s: column \"uses\" of its row is to be %s\n(-docs/architecture +imports):\n%s",
				name, quoted(used), diff)
		}
	}
}

// impure are packages for I/O, and clients of Kubernetes.
var impure = regexp.MustCompile(`^(net|syscall|(os|net/http|k8s\.io/client-go)(/.*)?)$`)

// room is one row of a table.
type room struct {
	wing int      // its place in the order of the wings
	uses []string // other rooms, sorted
	pure bool
}

var (
	wingLink = regexp.MustCompile(`(?m)^\| \[\w+\]\((architecture/\w+\.md)\) \|`)
	roomRow  = regexp.MustCompile("(?m)^\\| `([\\w/]+)`(?: \\(in `app/[\\w/]+`\\))? \\| .* \\| (.*) \\|$")
	roomName = regexp.MustCompile("`([\\w/]+)`")
)

// readTables returns the rooms of all wings by name.
func readTables(t *testing.T) map[string]room {
	t.Helper()
	const docs = "../../../docs"
	all := map[string]room{}
	wings := wingLink.FindAllStringSubmatch(readText(t, docs+"/architecture.md"), -1)
	if len(wings) == 0 {
		t.Fatal("docs/architecture.md has no table of wings")
	}
	for i, wing := range wings {
		page := readText(t, docs+"/"+wing[1])
		_, rest, found := strings.Cut(page, "| room | content | uses |")
		if !found {
			t.Fatalf("docs/%s has no table of rooms", wing[1])
		}
		table, _, _ := strings.Cut(rest, "\n\n")
		for _, row := range roomRow.FindAllStringSubmatch(table, -1) {
			name, uses := row[1], row[2]
			if _, twice := all[name]; twice {
				t.Errorf("docs/architecture has two rows for %s", name)
			}
			r := room{wing: i, pure: strings.Contains(uses, "pure")}
			for _, used := range roomName.FindAllStringSubmatch(uses, -1) {
				r.uses = append(r.uses, used[1])
			}
			slices.Sort(r.uses)
			all[name] = r
		}
	}
	return all
}

// readImports returns the imports of each room and each command, sorted.
func readImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string]map[string]bool{}
	add := func(name, file string) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if imports[name] == nil {
			imports[name] = map[string]bool{}
		}
		for _, spec := range parsed.Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imports[name][pkg] = true
		}
	}
	for folder, files := range goFiles(t, "../../internal") {
		for _, file := range files {
			add(folder, file)
		}
	}
	for folder, name := range map[string]string{
		"../lifeline": "cmd", "../replay": "cmd/replay", "../history": "cmd/history",
	} {
		for _, file := range goFiles(t, folder)["."] {
			add(name, file)
		}
	}
	sorted := map[string][]string{}
	for name, pkgs := range imports {
		sorted[name] = slices.Sorted(maps.Keys(pkgs))
	}
	return sorted
}

// goFiles returns the Go files below a folder by their folder relative to it, apart from tests and the packages for
// tests, which are named …test.
func goFiles(t *testing.T, root string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasSuffix(entry.Name(), "test")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		files[folder] = append(files[folder], file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no Go files in %s", path.Clean(root))
	}
	return files
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quoted returns rooms as the table has them.
func quoted(names []string) string {
	if len(names) == 0 {
		return "no room"
	}
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "`%s`", name)
	}
	return b.String()
}
