// SPDX-License-Identifier: Apache-2.0

package health

import (
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// script is a health check of Argo CD.
type script struct {
	text string
	code *lua.FunctionProto
}

// scripts are the compiled checks by kind; nil for a kind without a check.
var scripts sync.Map

// maxScripts bounds the kinds in scripts.
const maxScripts = 1024

// scriptOf returns the check of a kind, or nil.
func scriptOf(of schema.GroupKind) *script {
	if known, found := scripts.Load(of); found {
		s, _ := known.(*script)
		return s
	}
	path := pathOf(of)
	if path == "" {
		return nil
	}
	text, err := fs.ReadFile(resource_customizations.Embedded, path)
	if err != nil {
		return nil
	}
	s, err := compiled(string(text), path)
	if err != nil {
		s = nil // a script that does not compile is no check
	}
	if paths := checkPaths(); len(paths) < maxScripts {
		scripts.Store(of, s)
	}
	return s
}

func compiled(text, path string) (*script, error) {
	chunk, err := parse.Parse(strings.NewReader(text), path)
	if err != nil {
		return nil, err
	}
	code, err := lua.Compile(chunk, path)
	if err != nil {
		return nil, err
	}
	return &script{text, code}, nil
}

// checkPaths returns the paths of all checks, sorted: GROUP/KIND/health.lua. In the path, _ stands for any
// text.
var checkPaths = sync.OnceValue(func() []string {
	found, _ := fs.Glob(resource_customizations.Embedded, "*/*/health.lua") // the pattern is valid
	slices.Sort(found)
	return found
})

// pathOf returns the path of the check of a kind, or "". An exact path comes first.
func pathOf(of schema.GroupKind) string {
	exact := of.Group + "/" + of.Kind + "/health.lua"
	if _, found := slices.BinarySearch(checkPaths(), exact); found {
		return exact
	}
	for _, path := range checkPaths() {
		group, rest, _ := strings.Cut(path, "/")
		kind, _, _ := strings.Cut(rest, "/")
		suffix, wild := strings.CutPrefix(group, "_")
		inGroup := group == of.Group || wild && strings.HasSuffix(of.Group, suffix)
		if inGroup && kind == "_" {
			return path
		}
	}
	return ""
}

// check returns the verdict of Argo CD's check. Its state Degraded means both a failure and a trouble
// that passes: the object has failed if its names declare that, too. A check that calls an object without
// a status healthy has seen nothing.
func check(s *subject, by named) (Verdict, bool) {
	of := scriptOf(s.kind)
	if of == nil {
		return Verdict{}, false
	}
	state, message, err := of.run(s.obj)
	if err != nil {
		return Verdict{}, false
	}
	v := Verdict{By: observation.JudgedByArgoCD, Message: message, Ours: of.quotes(message), Reason: by.Reason}
	switch state {
	case "Healthy":
		v.Progress, v.Message = observation.ProgressCurrent, ""
		return v, len(s.status) > 0
	case "Progressing":
		v.Progress = observation.ProgressInProgress
	case "Suspended":
		v.Progress, v.Held = observation.ProgressInProgress, s.held()
	case "Degraded":
		v.Progress = observation.ProgressInProgress
		if by.Progress == observation.ProgressFailed || slices.ContainsFunc(s.conditions, saysFailed) {
			v.Progress = observation.ProgressFailed
		}
	default: // Unknown, Missing
		return Verdict{}, false
	}
	return v, true
}

// held reports whether the status shows a pause or a stop.
func (s *subject) held() bool {
	return slices.ContainsFunc(s.states, func(st state) bool { return st.word == wordStopped }) ||
		slices.ContainsFunc(s.conditions, func(c condition) bool { return c.holds(typeHeld) })
}

// saysFailed reports whether the reason of a condition that is False names a failure. An error alone is one
// try of many.
func saysFailed(c condition) bool {
	return (c.kind == typeGoal || c.kind == typeNone) && c.status == "False" && !c.stale &&
		(gaveUp(c.reason) || hasPart(c.reason, "Failed", "Failure", "Timeout", "Exception"))
}

// quotes reports whether a message is a literal of the script, so it has no value of the object.
func (s *script) quotes(message string) bool {
	return message != "" && strings.Contains(s.text, `"`+message+`"`)
}
