// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestRooms compares the table of rooms in docs/architecture.md with the rules of
// the linter.
func TestRooms(t *testing.T) {
	if diff := cmp.Diff(documented(t), enforced(t)); diff != "" {
		t.Errorf("rooms and the rooms that each may use (-docs/architecture.md +.golangci.yml):\n%s", diff)
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| `([\\w/]+)`(?: \\(in `app/([\\w/]+)`\\))? \\| .* \\| (.*) \\|$")
	code = regexp.MustCompile("`([\\w/]+)`")
)

// documented returns the rooms by name, each with those that it may use.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "| room | content | may use |")
	table, _, _ := strings.Cut(rest, "\n\n")
	rooms := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		name := m[1]
		if m[2] != "" {
			name = m[2]
		}
		rooms[name] = []string{}
		for _, used := range code.FindAllStringSubmatch(m[3], -1) {
			rooms[name] = append(rooms[name], used[1])
		}
		slices.Sort(rooms[name])
	}
	return rooms
}

// enforced returns the same of depguard's rules.
func enforced(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string
						Allow []string
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	rooms := map[string][]string{}
	for _, rule := range slices.Collect(maps.Values(config.Linters.Settings.Depguard.Rules)) {
		name := strings.TrimSuffix(strings.TrimPrefix(rule.Files[0], "**/app/"), "/*.go")
		name = strings.TrimPrefix(name, "internal/")
		rooms[name] = []string{}
		for _, used := range rule.Allow {
			_, used, _ = strings.Cut(strings.TrimSuffix(used, "$"), "/app/internal/")
			rooms[name] = append(rooms[name], used)
		}
		slices.Sort(rooms[name])
	}
	return rooms
}
