// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'

// The words of the page about a whole change.

// State is the outcome of a change as the list shows it. Open changes have none yet.
export type State = 'converged' | 'superseded' | 'deleted' | 'failed' | 'unfinished' | 'stuck' | 'running'

export function state(s: Summary): State {
  if (s.open) return s.stuck ? 'stuck' : 'running'
  return s.outcome ?? 'unfinished'
}

export const marks: Record<State, string> = {
  converged: '✓',
  superseded: '»',
  deleted: '−',
  failed: '✕',
  unfinished: '?',
  stuck: '!',
  running: '•',
}

// who returns the person, or the component that acted for itself.
export function who(s: Summary): { name: string; by: string } {
  const user = s.user ?? ''
  const actor = s.actor ?? ''
  if (actor !== '' && (user === '' || user.startsWith('system:'))) return { name: actor, by: '' }
  return { name: user, by: user === actor ? '' : actor }
}

// action returns what was done: "update Deployment".
export function action(s: Summary): string {
  if (s.verb && s.object) return `${s.verb} ${s.object.kind}`
  return s.name ?? ''
}

// what returns the command, or what was done to which object.
export function what(s: Summary): string {
  if (s.command) return s.command
  const { namespace, name } = s.object ?? {}
  return [action(s), [namespace, name].filter(Boolean).join('/')].filter(Boolean).join(' ')
}

// sentence returns why a change failed or is stuck; empty for others.
export function sentence(s: Summary): string {
  const now = state(s)
  return now === 'failed' || now === 'stuck' ? (s.reason ?? '') : ''
}

// present returns an open change as it is at a time: the server reports one only when it changes, but
// its current work continues.
export function present(s: Summary, time: number): Summary {
  if (!s.open) return s
  const more = (time - Date.parse(s.start)) / 1000 - s.duration
  if (more <= 0) return s
  const out = { ...s, duration: s.duration + more }
  if (s.current) {
    const current = (s.currentDuration ?? 0) + more
    out.currentDuration = current
    if (s.work) out.work = s.work.map((w) => (w.name === s.current ? { ...w, duration: current } : w))
    if (s.current === s.slowest || current > (s.slowestDuration ?? 0)) {
      out.slowest = s.current
      out.slowestDuration = current
    }
  }
  return out
}
