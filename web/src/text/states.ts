// SPDX-License-Identifier: Apache-2.0

// The states of a change, in the order of the page. docs/trace-model.md defines them.

export type State = 'running' | 'held' | 'stuck' | 'failed' | 'refused' | 'unfinished' | 'converged' | 'superseded' | 'deleted'

// marks are the signs of states.
export const marks: Record<State, string> = {
  running: '•',
  held: '=',
  stuck: '!',
  failed: '✕',
  refused: '✕',
  unfinished: '?',
  converged: '✓',
  superseded: '»',
  deleted: '−',
}

export const states = Object.keys(marks) as State[]

export function isState(text: string): text is State {
  return Object.hasOwn(marks, text)
}
