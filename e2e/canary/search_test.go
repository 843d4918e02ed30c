// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // reads the server's store
)

// search looks for a value in everything that it is given.
type search struct {
	// forms are the value as it is, and as encodings show it.
	forms map[string][]byte
	// searched counts the bytes by sink.
	searched map[string]int
	// found are the sinks and forms that were reported.
	found map[string]bool
}

func newSearch(canary string) *search {
	s := &search{forms: map[string][]byte{
		"as it is":           []byte(canary),
		"in hexadecimal":     []byte(hex.EncodeToString([]byte(canary))),
		"as Go prints bytes": {},
		"in decimal":         {},
	}, searched: map[string]int{}, found: map[string]bool{}}
	var goBytes, decimal []string
	for _, c := range []byte(canary) {
		goBytes, decimal = append(goBytes, fmt.Sprintf("0x%x", c)), append(decimal, fmt.Sprint(c))
	}
	s.forms["as Go prints bytes"] = []byte(strings.Join(goBytes, ", "))
	s.forms["in decimal"] = []byte(strings.Join(decimal, " "))
	// A part of the value, as in a text that was cut, is enough.
	s.forms["in part"], s.forms["its end"] = []byte(canary[:cut]), []byte(canary[len(canary)-cut:])
	s.forms["in upper case"] = []byte(strings.ToUpper(canary))
	s.forms["in upper case, in hexadecimal"] = []byte(strings.ToUpper(hex.EncodeToString([]byte(canary))))
	in64 := base64.StdEncoding.EncodeToString([]byte("user:" + canary))
	s.forms["in base64 in base64"] = []byte(base64.StdEncoding.EncodeToString([]byte(in64)))[:40]
	s.forms["a number"] = []byte(number)
	s.forms["in URL-encoding"] = []byte(percent(canary))
	s.forms["a token"] = []byte(token)
	// Base64 looks different by where in three bytes the value begins.
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary + "xx"))
		s.forms[fmt.Sprintf("in base64, %d", shift)] = []byte(text[(shift*8+5)/6 : len(text)-6])
	}
	return s
}

// percent encodes each byte as in a URL.
func percent(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// in looks for the value in what a sink got.
func (s *search) in(t testing.TB, sink string, data []byte) {
	t.Helper()
	s.searched[sink] += len(data)
	for form, want := range s.forms {
		if at := bytes.Index(data, want); at >= 0 && !s.found[sink+form] {
			s.found[sink+form] = true
			t.Errorf("%s holds the value %s: …%q…", sink, form, data[max(0, at-200):min(len(data), at+80)])
		}
	}
}

// files looks through the files below a directory, as they are.
func (s *search) files(t testing.TB, sink, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // a killed server leaves its socket
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			s.in(t, sink+" "+filepath.Base(path), data)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// packed looks through a compressed file.
func (s *search) packed(t testing.TB, sink, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	s.in(t, sink, text)
}

// database looks through each value of each table of an SQLite file, unpacked.
func (s *search) database(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		s.table(t, db, table)
	}
}

func (s *search) table(t testing.TB, db *sql.DB, table string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.RawBytes, len(columns))
	to := make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			s.in(t, "table "+table+", "+columns[i], v)
			s.compressed(t, "table "+table+", "+columns[i]+" unpacked", v)
			if unpacked, err := gzip.NewReader(bytes.NewReader(v)); err == nil {
				text, err := io.ReadAll(unpacked)
				if err != nil {
					t.Errorf("table %s, %s: %v", table, columns[i], err)
				}
				s.in(t, "table "+table+", "+columns[i]+", unpacked", text)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// compressed looks through a value that is a form byte and a stream of DEFLATE, as the archive has for
// the spans of a trace. It ignores other values.
func (s *search) compressed(t testing.TB, sink string, value []byte) {
	t.Helper()
	if len(value) == 0 || value[0] != 1 {
		return
	}
	if text, err := io.ReadAll(flate.NewReader(bytes.NewReader(value[1:]))); err == nil {
		s.in(t, sink, text)
	}
}
