// SPDX-License-Identifier: Apache-2.0

package span

// State is the word for a change, or for an object after its last change. The word of an ended one is its
// outcome. All texts, the API and the page use these words; States defines them.
type State string

// The states of an open change.
const (
	// Running means that nothing is wrong yet.
	Running State = "running"
	// Held means that a pause, a stop or the declared order keeps the object as it is. That is no problem.
	Held State = "held"
	// Stuck means that the wait has a reason that is not to be expected to pass soon.
	Stuck State = "stuck"
)

// Recovered is the word for a state after a claim that revised a failure, beside the new outcome.
const Recovered State = "recovered"

// Word is one word of the table of states, with its definition.
type Word struct {
	State   State
	Meaning string
}

// States returns the one table of words, in the order of a change's life. docs/trace-model.md has it.
func States() []Word {
	return []Word{
		{Running, "the change continues, and nothing is wrong yet"},
		{Held, "a pause, a stop or the declared order keeps the object as it is; that is no problem"},
		{Stuck, "the object waits for something that is not to be expected soon; a crash loop under retry is stuck"},
		{State(Failed), "a controller declared failure, or the command of a `lifeline run` failed"},
		{State(Refused), "the API server refused the request; its object is as it was"},
		{State(Converged), "the object reached its desired state"},
		{State(Superseded), "a newer desired state replaced this one (L1), or the object was deleted first"},
		{State(Deleted), "the object and its dependants are gone (L6)"},
		{
			State(Unfinished),
			"no progress for the patience (`engine.patience`, default 1 h), or the object above ended as `failed` or " +
				"`unfinished`",
		},
		{Recovered, "`converged` after an earlier claim of `failed` or `unfinished`; said beside the outcome"},
	}
}

// Ended reports whether the state is an outcome.
func (s State) Ended() bool { return s != Running && s != Held && s != Stuck }

// StateOf returns the word for a change or an object: the outcome of an ended one, and else Running, Held or Stuck.
// An ended one without an outcome is unfinished. An open one may have an outcome already: nothing of it goes on, and
// it stays open for better evidence only (rule L9).
func StateOf(open, held, stuck bool, outcome Outcome) State {
	switch {
	case open && outcome != "" && outcome != Unfinished && outcome != Failed:
		return State(outcome)
	case open && held:
		return Held
	case open && (stuck || outcome == Failed):
		return Stuck
	case open:
		return Running
	case outcome == "":
		return State(Unfinished)
	}
	return State(outcome)
}

// Restarted is the word of an edit by kubectl rollout restart.
const Restarted = "restarted"
