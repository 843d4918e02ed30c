// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'
import { what } from '../text/summary'
import { brief, visible } from '../text/text'
import { length } from './clock'
import type { Why } from './types'

// title says what was done: "update Deployment shop/web".
export function title(s: Summary): string {
  return visible(what(s) || 'trace')
}

// verdict says in one sentence what happened, or why the change is stuck. `took` is in milliseconds.
export function verdict(s: Summary, why: Why | undefined, took: number, present: number): string {
  const subject = s.object && !s.command ? `${s.object.kind} ${s.object.name}` : 'The change'
  const reason = sentence(why?.reason ?? s.reason ?? '', subject)
  const state = s.state === 'stuck' ? s.state : (why?.state ?? s.state)
  let text: string
  switch (state) {
    case 'stuck': {
      const since = why?.since && length(Math.max(0, present - Date.parse(why.since)))
      text = `${subject} ${since ? `has been stuck for ${since}` : 'is stuck'}${reason && `: ${reason}`}.`
      break
    }
    case 'running':
    case 'held':
      text = `${subject} has been ${state} for ${length(took)}${reason && `: ${reason}`}.`
      break
    case 'refused':
      text = `The request was refused${reason && `: ${reason}`}.`
      break
    case 'failed':
      text = `${subject} failed after ${length(took)}${reason && `: ${reason}`}.`
      break
    case 'unfinished':
      text = `${subject} did not finish within ${length(took)}${reason && `: ${reason}`}.`
      break
    case 'deleted':
      text = `${subject} was deleted, in ${length(took)}${slowest(s, why)}.`
      break
    case 'superseded':
      text = `${subject} was replaced by a newer change after ${length(took)}${slowest(s, why)}.`
      break
    default:
      text = `${subject} ${state === 'converged' ? 'converged' : 'ended'} in ${length(took)}${slowest(s, why)}.`
  }
  if (s.aftermath) {
    if (state === 'converged') text = text.replace(/\.$/, `; since then ${s.aftermath.text}.`)
    else text += ` Its change converged; since then ${s.aftermath.text}.`
  }
  if (s.was && state !== s.was) text += ` Before that, it was ${s.was}${s.reason ? `: ${sentence(s.reason, subject)}` : ''}.`
  return visible(text)
}

function sentence(reason: string, subject: string): string {
  let text = reason.trim().replace(/\.$/, '')
  if (text.startsWith(`${subject} `)) text = `it ${text.slice(subject.length + 1)}`
  return text
}

function slowest(s: Summary, why: Why | undefined): string {
  const work = why?.slowest ?? s.slowest
  if (!work) return ''
  const share = why?.share ?? (s.duration > 0 ? Math.floor((100 * (s.slowestDuration ?? 0)) / s.duration) : 0)
  return `; ${share} % of it for ${workOf(work, s.object?.kind)}`
}

// workOf names work in a sentence about an object: its own reconciliation, and that of an object below.
function workOf(work: string, kind: string | undefined): string {
  const below = /^reconcile (\S+)$/.exec(work)?.[1]
  if (!below) return brief(work)
  return below === kind ? 'itself' : `its ${below}`
}
