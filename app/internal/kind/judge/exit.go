// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// exits are the exit codes with a common meaning, and the meaning. A shell and the container runtimes return 128 and
// the number of the signal that ended a program. The status of a container names a lack of memory elsewhere.
var exits = map[int32]string{
	126: "its command cannot be executed",
	127: "its command was not found",
	130: "SIGINT: it was interrupted",
	134: "SIGABRT: it aborted itself",
	135: "SIGBUS: an invalid access to memory",
	137: "SIGKILL: it was killed, and its status reports no lack of memory",
	139: "SIGSEGV: an invalid access to memory",
	143: "SIGTERM: it was asked to stop",
}

// signals is the offset of the exit code from the number of a signal.
const signals = 128

// ExitMessage describes the failed end of a container, with its last message unless that is withheld. It is
// "" for any other state.
func ExitMessage(name string, s *observation.ContainerState) string {
	var text string
	code := int32(0)
	switch {
	case !s.Terminated():
		return ""
	case s.Reason == "OOMKilled":
		text = fmt.Sprintf("container %s was killed: out of memory", name)
	case s.Signal != 0:
		text, code = fmt.Sprintf("container %s ended by signal %d", name, s.Signal), signals+s.Signal
	case s.ExitCode != 0:
		text, code = fmt.Sprintf("container %s exited with code %d", name, s.ExitCode), s.ExitCode
	default:
		return ""
	}
	if meaning := exits[code]; meaning != "" {
		text += " (" + meaning + ")"
	}
	if s.Message != "" && s.Message != message.Withheld {
		text += ": " + s.Message
	}
	return text
}
