// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// outputCSV is a table for spreadsheets.
const outputCSV = "csv"

// SQLOutputs returns the output formats of SQL, the default first.
func SQLOutputs() []string { return []string{cli.OutputTable, cli.OutputJSON, outputCSV} }

// SQL prints the answer of the archive to a SELECT: `lifeline sql`. It only reads the file.
type SQL struct {
	Options
	Statement string
	// Output is one of SQLOutputs.
	Output string
}

// Validate returns an error for invalid options.
func (s *SQL) Validate() error {
	if !slices.Contains(SQLOutputs(), s.Output) {
		return fmt.Errorf("unknown output %q: known are %s", s.Output, strings.Join(SQLOutputs(), ", "))
	}
	return nil
}

// Run prints the answer.
func (s *SQL) Run(ctx context.Context) (code int, err error) {
	return s.interruptible(ctx, "answer the statement", func(ctx context.Context) error {
		dir, err := s.cluster()
		if err != nil {
			return err
		}
		result, err := sqlite.Statement{Path: datadir.Archive(dir), SQL: s.Statement}.Run(ctx)
		if errors.Is(err, store.ErrTooLong) {
			return fmt.Errorf("it takes longer than %s: narrow it, as in WHERE start_ns > …", sqlite.StatementTime)
		}
		if err != nil {
			return err
		}
		if err := s.print(result); err != nil {
			return err
		}
		if result.More {
			s.say("these are the first %d rows; there are more", len(result.Rows))
		}
		return nil
	})
}

func (s *SQL) print(result *sqlite.Result) error {
	if s.Output == cli.OutputJSON {
		out := make([]object, len(result.Rows))
		for i, row := range result.Rows {
			out[i] = object{result.Columns, row}
		}
		return cli.WriteJSON(s.Streams.Out, out)
	}
	shown := func(text string) string { return text }
	if s.Output == cli.OutputTable {
		shown = cli.Shown
	}
	header := make([]string, len(result.Columns))
	for i, name := range result.Columns {
		header[i] = shown(name)
	}
	rows := [][]string{header}
	for _, row := range result.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = shown(text(value))
		}
		rows = append(rows, cells)
	}
	if s.Output == outputCSV {
		return render.CSV(s.Streams.Out, rows)
	}
	return render.Grid(s.Streams.Out, rows)
}

// text returns a value of SQLite as text: NULL is empty, and bytes are hexadecimal.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// object is a row as an object of JSON, with its members in the order of the columns.
type object struct {
	columns []string
	row     []any
}

// MarshalJSON writes the object.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, column := range o.columns {
		if i > 0 {
			out.WriteByte(',')
		}
		value := o.row[i]
		switch v := value.(type) {
		case []byte:
			value = hex.EncodeToString(v)
		case float64:
			if math.IsInf(v, 0) || math.IsNaN(v) {
				value = nil // JSON has no such number
			}
		}
		for j, part := range []any{column, value} {
			doc, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				out.WriteByte(':')
			}
			out.Write(doc)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
