// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// addition is text of the next version's source, after text of the present one. file is below app/internal.
type addition struct{ file, after, text string }

// additions are those of a version that adds to each kind of stored data: fields of questions, a table and a column
// of the archive, a table of the journal, a part of the saved engine, a fact and an attribute of claims, and a field
// of the stored inputs.
var additions = []addition{
	{"question/fields.go", "	[]Field{\n", `
		text("next", "verb, as of the next version", func(s Source) any { return "next-" + s.facts().Verb }),
		{Name: "next_count", Type: Int, Meaning: "1", From: func(Source) any { return int64(1) }},
`},
	{
		"store/sqlite/schema.go",
		"schemaOfRollups",
		`, "CREATE TABLE next (trace INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;" +
		"INSERT INTO next SELECT num, outcome FROM traces;" +
		"ALTER TABLE traces ADD COLUMN next TEXT NOT NULL DEFAULT ''"`,
	},
	{"store/sqlite/schema.go", "	Name:          \"archive\",\n", "	Oldest: 2,\n"},
	{
		"journal/journal.go", "CREATE INDEX kept_at ON kept (at);\n`",
		`, "CREATE TABLE next (note TEXT PRIMARY KEY) STRICT; INSERT INTO next VALUES ('x')"`,
	},
	{"journal/journal.go", "	Name:          \"journal\",\n", "	Oldest: 1,\n"},
	{"lifecycle/save.go", "type state struct {\n", "	Next map[string][]nextClaim\n"},
	{
		"lifecycle/save.go", "return &state{\n",
		`		Next: map[string][]nextClaim{"claims": {{Note: "x", At: e.last}}},` + "\n",
	},
	{"lifecycle/save.go", "var ErrFormat = snapshot.ErrFormat\n", `
type nextClaim struct {
	Note string
	At   time.Time
}
`},
	{"change/revisable.go", "type OutcomeClaim struct {\n", "	Next string\n"},
	{"lifecycle/claims.go", "t.Claim(&change.OutcomeClaim{\n", `			Next: "x",` + "\n"},
	{"lifecycle/claims.go", "span.KeyClaim.Int(of.Number)", `, attribute.String("lifeline.next", of.Next)`},
	{"serve/inputs.go", "type chunkHeader struct {\n", "	Next string `json:\"next,omitempty\"`\n"},
	{"serve/inputs.go", "h := chunkHeader{", `Next: "x", `},
}

// BuildNext builds lifeline as the version after the present one would be, with additions to its stored data.
func BuildNext(ctx context.Context, app, out string) error {
	app, err := filepath.Abs(app)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, a := range additions {
		path := filepath.Join(app, "internal", a.file)
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("cannot read a source of lifeline: %w", err)
			}
			texts[path] = string(text)
		}
		before, rest, found := strings.Cut(texts[path], a.after)
		if !found {
			return fmt.Errorf("%s has no %q: change the additions of the next version", a.file, a.after)
		}
		texts[path] = before + a.after + a.text + rest
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range texts {
		base := strings.TrimSuffix(filepath.Base(path), ".go")
		with := fmt.Sprintf("%s.%s%d.go", out, base, len(overlay.Replace))
		if err := os.WriteFile(with, []byte(text), 0o600); err != nil {
			return fmt.Errorf("cannot write a source of the next version: %w", err)
		}
		overlay.Replace[path] = with
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out+".json", doc, 0o600); err != nil {
		return fmt.Errorf("cannot write the overlay of the next version: %w", err)
	}
	_, err = program.Go(ctx, app, "build", "-overlay", out+".json", "-tags", "grpcnotrace", "-o", out, "./cmd/lifeline")
	return err
}
