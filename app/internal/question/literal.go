// SPDX-License-Identifier: Apache-2.0

package question

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
)

// converted builds duration("…") or timestamp("…") with CEL's own conversion.
func (b *builder) converted(e ast.Expr, name string, args []ast.Expr) (node, *Error) {
	of, example := celtypes.TimestampType, timestampExample
	if name == overloads.TypeConvertDuration {
		of, example = celtypes.DurationType, durationExample
	}
	if len(args) != 1 || !isLiteral(args[0]) {
		return b.fault(e, name+"() takes only a literal string", "write "+example)
	}
	text, is := args[0].AsLiteral().(celtypes.String)
	if !is {
		return b.fault(e, name+"() takes only a literal string", "write "+example)
	}
	switch v := text.ConvertToType(of).(type) {
	case celtypes.Duration:
		return constant{Duration, v.Nanoseconds()}, nil
	case celtypes.Timestamp:
		if !within(v.Time).Equal(v.Time) {
			return b.fault(args[0], "the time is outside the years 1678 to 2262", "")
		}
		return constant{Timestamp, v.UnixNano()}, nil
	}
	hint := "write " + example
	if strings.HasSuffix(string(text), "d") && name == overloads.TypeConvertDuration {
		hint = `the units are h, m, s and ms: a day is "24h"`
	}
	return b.fault(args[0], fmt.Sprintf("%q is not a %s", string(text), name), hint)
}

// pattern checks the regular expression of matches.
func (b *builder) pattern(e ast.Expr) *Error {
	if !isLiteral(e) {
		return fault(b.info, e, "matches needs a literal regular expression", `write name.matches("^web-[0-9]+$")`)
	}
	text, _ := e.AsLiteral().(celtypes.String)
	if len(text) > MaxPattern {
		return fault(b.info, e, fmt.Sprintf("the regular expression is longer than %d bytes", MaxPattern), "")
	}
	if _, err := regexp.Compile(string(text)); err != nil {
		detail := err.Error()
		if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
			detail = bad.Code.String()
			if bad.Expr != "" {
				detail += " in " + bad.Expr
			}
		}
		return fault(b.info, e, "bad regular expression: "+detail, "the syntax is that of RE2")
	}
	if parsed, err := syntax.Parse(string(text), syntax.Perl); err == nil {
		if p, err := syntax.Compile(parsed.Simplify()); err == nil && len(p.Inst) > maxProgram {
			return fault(b.info, e, "the regular expression is too complex", "use smaller numbers of repetitions")
		}
	}
	return nil
}

func isLiteral(e ast.Expr) bool { return e.Kind() == ast.LiteralKind }
