// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// EnvMessages is the environment variable with the treatment of messages: mask, strict or keep.
const EnvMessages = "LIFELINE_MESSAGES"

// messages are the settings of the messages that a command reads itself.
type messages struct {
	key      [normalize.KeySize]byte
	refusals request.Refusals
}

// onTerminal reports whether both streams of a command are terminals: reasons go to the standard error, too.
func onTerminal(o *cli.Options) bool {
	return cli.NewScreen(o.Streams.Out, o.Environment()).Terminal &&
		cli.NewScreen(o.Streams.ErrOut, o.Environment()).Terminal
}

// newMessages returns the settings by the variable EnvMessages. Without one, text has its values on a terminal only:
// its user could read them with kubectl. Everything else may have other readers: a pipe, the log of a CI job, a
// file.
func newMessages(setting string, terminalOnly bool) messages {
	m := messages{key: normalize.NewKey()}
	modes := mask.Modes{Default: mask.Mode(setting)}
	switch modes.Default {
	case mask.Masked, mask.Strict, mask.Keep:
	case "clean":
		modes.Default = mask.Strict
	default:
		modes.Default = mask.Masked
		if terminalOnly {
			modes.Default = mask.Keep
		}
	}
	m.refusals = request.Refusals{
		Messages: modes, Memory: mask.NewMemory(), Whole: modes.Default == mask.Keep,
	}
	return m
}
