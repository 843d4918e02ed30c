// SPDX-License-Identifier: Apache-2.0

package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const page = "../../../docs/configuration.md"

// TestDocs compares docs/configuration.md with the types; -update rewrites it.
func TestDocs(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/configuration.md is not what the types say: run go test ./internal/config -update; -want "+
			"+got:\n%s", diff)
	}
}

func TestExampleIsTheDefault(t *testing.T) {
	got, err := Parse([]byte(exampleYAML()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// exampleYAML returns the defaults in a file's form.
func exampleYAML() string {
	var b strings.Builder
	writeYAML(&b, "", reflect.ValueOf(Default()).Elem())
	return b.String()
}

func writeYAML(b *strings.Builder, indent string, section reflect.Value) {
	for _, m := range members(section.Type()) {
		v := section.Field(m.index)
		if isSection(v.Type()) {
			fmt.Fprintf(b, "%s%s:\n", indent, m.name)
			writeYAML(b, indent+"  ", v)
		} else {
			fmt.Fprintf(b, "%s%s: %s\n", indent, m.name, show(v))
		}
	}
}

// show returns a value in a file's form.
func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case metav1.Duration:
		text := value.Duration.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return text
	case resource.Quantity:
		return value.String()
	case []string:
		return "[" + strings.Join(value, ", ") + "]"
	case string:
		if value == "" || strings.Contains(value, ":") {
			return strconv.Quote(value)
		}
		return value
	default:
		return fmt.Sprint(value)
	}
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return "duration"
	case reflect.TypeFor[resource.Quantity]():
		return "size"
	case reflect.TypeFor[[]string]():
		return "list of strings"
	case reflect.TypeFor[int]():
		return "number"
	case reflect.TypeFor[bool]():
		return "true or false"
	}
	return "string"
}

func reference(t *testing.T) string {
	t.Helper()
	comments := fieldComments(t)
	var b strings.Builder
	b.WriteString(
		`<!-- Made by: cd app && go test ./internal/config -run TestDocs -update. Change the comments in app/internal/config instead. -->

# Configuring ` + "`lifeline serve`" + `

` + "`lifeline serve --config FILE`" + ` reads one YAML file. This one says what holds without it:

` + "```yaml\n" + exampleYAML() + "```" + `

- Only ` + "`apiVersion`" + ` and ` + "`kind`" + ` are required; what is left out has its default.
- A field that is not known, is given twice or has a value that is not allowed stops the server from starting. Everything that is wrong
  is named at once, with file and line. Anchors and aliases of YAML are not known.
- Durations are written ` + "`500ms`, `30s`, `1h30m`" + ` (there is no unit for days), sizes in bytes ` +
			"`500Mi`, `10Gi`" + `.
- While the server runs it looks at the file every few seconds, and at once when it gets SIGHUP. A change of fields marked **yes** below is taken
  over then. If any other field has changed, or anything is wrong, nothing is taken over: the log says which fields, and the server goes on as it was.
`,
	)
	root := reflect.ValueOf(Default()).Elem()
	b.WriteString("\n## At the top\n\n")
	writeTable(&b, "", root, comments)
	writeSections(&b, "", root, comments)
	b.WriteString(rights)
	return b.String()
}

// rights follows the fields, because they determine the rights.
const rights = `
## Rights

` + "```sh" + `
kubectl create namespace lifeline
lifeline rbac -n lifeline --config FILE | kubectl apply -f -
` + "```" + `

prints and gives a ServiceAccount what the server needs under this configuration, and no more: ` +
	"`get`, `list` and `watch`" + ` on the resources that
your cluster offers and that are not excluded, each by name. Secrets are not among them, and the server never asks for them. Of ConfigMaps it reads
only the metadata, but RBAC knows no such right; exclude them if that is too much. With ` + "`--offline`" +
	` no cluster is asked, and the list is that of
Kubernetes itself.

- A resource that may not be read is named once in the log and left out; the server goes on.
- Kinds that are defined later are in no list yet. Run the command again, or let whoever defines them add a ClusterRole that reads them, with the label
  ` + "`rbac.lifeline.dev/aggregate-to-lifeline: \"true\"`" +
	`: its rules count for every Lifeline in the cluster. To apply it takes an administrator of the cluster.
- With ` + "`watch.namespaces`" +
	` there are Roles in those namespaces, one in kube-system to read its UID (the identity of the cluster), and no ClusterRole.
  Then Nodes are not seen, nor anything else without a namespace.
- Several servers (` + "`replicas.mode`" + `) share Leases: with ` + "`standby`" + ` two of them, by name; with ` +
	"`shards`" + ` all Leases of their namespace, so give them one of
  their own. Nothing else in the cluster is ever written.
`

func writeSections(b *strings.Builder, prefix string, section reflect.Value, comments map[string]string) {
	for _, m := range members(section.Type()) {
		v := section.Field(m.index)
		if !isSection(v.Type()) {
			continue
		}
		path := prefix + m.name
		fmt.Fprintf(b, "\n## `%s`\n\n%s\n\n", path, comments[section.Type().Name()+"."+m.name])
		writeTable(b, path+".", v, comments)
		writeSections(b, path+".", v, comments)
	}
}

func writeTable(b *strings.Builder, prefix string, section reflect.Value, comments map[string]string) {
	b.WriteString("| field | type | default | while running | what it says |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range members(section.Type()) {
		v := section.Field(m.index)
		if isSection(v.Type()) {
			continue
		}
		reload := "restart"
		if isReloadable(prefix + m.name) {
			reload = "**yes**"
		}
		fmt.Fprintf(b, "| `%s` | %s | `%s` | %s | %s |\n", m.name, typeName(v.Type()), show(v), reload,
			comments[section.Type().Name()+"."+m.name])
	}
}

// fieldComments returns the doc comments of all fields, by Type.jsonName.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !strings.HasSuffix(spec.Name.Name, "Configuration") {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				tag, _ := strconv.Unquote(f.Tag.Value)
				comment := strings.Join(strings.Fields(f.Doc.Text()), " ")
				if comment == "" {
					t.Errorf("%s.%s has no comment", spec.Name, f.Names[0])
				}
				out[spec.Name.Name+"."+reflect.StructTag(tag).Get("json")] = comment
			}
			return false
		})
	}
	return out
}
