// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// The bounds of one run of a check. An object above them gets no verdict of a check.
const (
	maxSteps     = 200_000
	maxValues    = 20_000
	maxDepth     = 32
	maxText      = 4 << 10
	maxRegisters = 16 << 10
	maxCalls     = 64
)

var (
	errTooLarge  = errors.New("the object is too large for a check")
	errNoVerdict = errors.New("the check has no verdict")
)

// functions are the functions of Lua that a check may use, by library. None reads a file, a clock, a random
// number or the environment, writes, or makes a long text of a short one.
var functions = map[string][]string{
	lua.BaseLibName: {"assert", "error", "ipairs", "next", "pairs", "select", "tonumber", "tostring", "type", "unpack"},
	lua.TabLibName:  {"concat", "getn", "insert", "maxn", "remove", "sort"},
	lua.StringLibName: {
		"byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "reverse", "sub", "upper",
	},
	lua.MathLibName: {"abs", "ceil", "floor", "huge", "max", "min"},
}

// run runs the check with an object. The result is that of the script: a state of Argo CD and a message.
func (s *script) run(obj fields) (state, message string, err error) {
	l := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: maxCalls, RegistrySize: 1 << 10, RegistryMaxSize: maxRegisters,
		RegistryGrowStep: 1 << 10,
	})
	defer l.Close()
	openLibraries(l)
	c := converter{l: l}
	value := c.value(obj, 0)
	if c.count > maxValues || c.deep {
		return "", "", errTooLarge
	}
	l.SetGlobal("obj", value)
	l.SetContext(&steps{left: maxSteps})
	l.Push(l.NewFunctionFromProto(s.code))
	if err := l.PCall(0, 1, nil); err != nil {
		return "", "", err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", errNoVerdict
	}
	status, ok := result.RawGetString("status").(lua.LString)
	if !ok {
		return "", "", errNoVerdict
	}
	text, _ := result.RawGetString("message").(lua.LString)
	return string(status), string(text), nil
}

// openLibraries opens the functions of the whitelist.
func openLibraries(l *lua.LState) {
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
	} {
		l.Push(l.NewFunction(lib.open))
		l.Push(lua.LString(lib.name))
		l.Call(1, 0)
	}
	globals := l.CreateTable(0, len(functions))
	for lib, names := range functions {
		from := l.G.Global
		to := globals
		if lib != lua.BaseLibName {
			from, _ = l.G.Global.RawGetString(lib).(*lua.LTable)
			to = l.CreateTable(0, len(names))
			globals.RawSetString(lib, to)
		}
		for _, name := range names {
			to.RawSetString(name, from.RawGetString(name))
		}
	}
	// A method of a text, such as text:find, is looked up in the metatable of texts.
	if meta, ok := l.GetMetatable(lua.LString("")).(*lua.LTable); ok {
		meta.RawSetString("__index", globals.RawGetString(lua.StringLibName))
	}
	l.G.Global = globals
	l.Env = globals
}

// converter makes values of Lua of those of an object.
type converter struct {
	l     *lua.LState
	count int
	deep  bool
}

// value returns the value of Lua. Keys come in order, so that a check sees the same order each time.
func (c *converter) value(v any, depth int) lua.LValue {
	if c.count++; c.count > maxValues {
		return lua.LNil
	}
	if depth > maxDepth {
		c.deep = true
		return lua.LNil
	}
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v[:min(len(v), maxText)])
	case []any:
		t := c.l.CreateTable(len(v), 0)
		for _, item := range v {
			t.Append(c.value(item, depth+1))
		}
		return t
	case fields:
		t := c.l.CreateTable(0, len(v))
		for _, key := range sortedKeys(v) {
			if key == "managedFields" {
				continue
			}
			t.RawSetString(key, c.value(v[key], depth+1))
		}
		return t
	}
	return lua.LNil
}

// steps is a context that ends after a number of steps. The interpreter asks for Done before each
// instruction.
type steps struct{ left int }

var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (s *steps) Done() <-chan struct{} {
	if s.left--; s.left < 0 {
		return ended
	}
	return nil
}

func (s *steps) Err() error {
	if s.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (*steps) Deadline() (time.Time, bool) { return time.Time{}, false }

func (*steps) Value(any) any { return nil }
