// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'
import type { State } from './states'
import { absolute, ago } from './time'

// The words of the page about a whole change.

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

const bad: ReadonlySet<State> = new Set<State>(['failed', 'refused'])

// sentence returns why a change failed, what an open one waits for, why its object is broken now, or what happened to its
// Pods afterwards; empty for others.
export function sentence(s: Summary): string {
  if (works(s)) return ''
  return bad.has(s.state) || continues(s) ? (s.reason ?? '') : (s.now?.reason ?? s.aftermath?.text ?? '')
}

// worse is the mark of a change with an aftermath, after its outcome.
export const worse = 'then worse'

// works reports whether an open change is in a step of its work, such as the pull of an image. The step says more than
// the wait for its end.
function works(s: Summary): boolean {
  return s.state === 'running' && s.current !== undefined && !s.current.startsWith('reconcile ')
}

// later says how the object is now, where that differs from the outcome: "still broken, 3 h", "broken since 12:03".
export function later(s: Summary, present: number): string {
  if (!s.now) return ''
  const since = Date.parse(s.now.since)
  if (s.now.state === 'still') return `still broken, ${s.now.before ? 'over ' : ''}${ago(since, present)}`
  const text = absolute(since)
  return `broken since ${text.slice(0, 10) === absolute(present).slice(0, 10) ? text.slice(11, 16) : text.slice(5, 16)}`
}

const going: ReadonlySet<State> = new Set<State>(['running', 'held', 'stuck'])

// continues reports whether a change goes on. An open one that has its outcome waits for better evidence only.
export function continues(s: Summary): boolean {
  return s.open && going.has(s.state)
}

// present returns an open change as it is at a time: the server reports one only when it changes, but
// its current work continues.
export function present(s: Summary, time: number): Summary {
  if (!continues(s)) return s
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
