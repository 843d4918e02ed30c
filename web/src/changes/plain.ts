// SPDX-License-Identifier: Apache-2.0

import { quote } from '../text/text'
import { isState, states, type State } from '../text/states'
import { join, split } from './clauses'

// A question is a list of clauses with && between. A clause is CEL, or plain words:
//
//   web failed                      changes of objects with web in a name, in the state failed
//   shop/web -deleted               of one namespace, in any state but one
//   stuck && kind == "Deployment"   beside CEL
//
// All words must match, and any of the states. The server gets CEL, and the states on their own.

// Words are those of a plain clause.
interface Word {
  text: string
  not: boolean
}

const plain = /^-?[\p{L}\p{N}][\p{L}\p{N}._/:@-]*$/u

// wordsOf returns the words of a plain clause; undefined for CEL.
function wordsOf(clause: string): Word[] | undefined {
  const list = clause.trim().split(/\s+/)
  if (!list.every((word) => plain.test(word))) return undefined
  return list.map((word) => ({ text: word.replace(/^-/, ''), not: word.startsWith('-') }))
}

// isPlain reports whether a question has plain words only.
export function isPlain(question: string): boolean {
  return question.trim() !== '' && split(question).every((clause) => wordsOf(clause))
}

const stateOf = (word: Word): State | undefined => {
  const text = word.text.toLowerCase()
  return isState(text) ? text : undefined
}

// short are the usual short names of kinds.
const short: Record<string, string> = {
  cj: 'CronJob', cm: 'ConfigMap', deploy: 'Deployment', ds: 'DaemonSet', hpa: 'HorizontalPodAutoscaler', ing: 'Ingress', no: 'Node',
  ns: 'Namespace', po: 'Pod', pv: 'PersistentVolume', pvc: 'PersistentVolumeClaim', rs: 'ReplicaSet', sa: 'ServiceAccount',
  sts: 'StatefulSet', svc: 'Service',
}

// kindIs returns the condition for a kind, in any case, singular or plural; '' for a text that is none.
function kindIs(text: string): string {
  const name = short[text.toLowerCase()] ?? text
  if (!/^[A-Za-z]{2,}$/.test(name)) return ''
  const stem = name.replace(/ies$/i, 'y').replace(/(ss|x)es$/i, '$1').replace(/([^s])s$/i, '$1')
  return `kind.matches(${quote(`(?i)^${stem.replace(/y$/i, '(y|ie)')}(s|es)?$`)})`
}

// condition returns the CEL of one word.
function condition(word: Word): string {
  const text = word.text
  const slash = text.indexOf('/')
  let any: string
  if (slash > 0 && slash === text.lastIndexOf('/')) {
    const [left, right] = [text.slice(0, slash), quote(text.slice(slash + 1).toLowerCase())]
    const first = [`namespace == ${quote(left.toLowerCase())}`, kindIs(left)].filter(Boolean).join(' || ')
    any = `(${first}) && name.contains(${right}) || images.exists(i, i.contains(${quote(text)}))`
  } else {
    const name = quote(text.toLowerCase())
    const all = [`name.contains(${name})`, `namespace.contains(${name})`, `user.contains(${quote(text)})`, `actor.contains(${quote(text)})`]
    if (/[/:]/.test(text)) all.push(`images.exists(i, i.contains(${quote(text)}))`)
    any = [...all, kindIs(text)].filter(Boolean).join(' || ')
  }
  return word.not ? `!(${any})` : `(${any})`
}

export interface Translation {
  // where is the question in CEL.
  where: string
  // states are those in question; none for all.
  states: State[]
  // column returns the place in the text of a place in `where`, both from 1; undefined if the text has none.
  column(of: number | undefined): number | undefined
}

// translate returns what the server is asked for.
export function translate(question: string): Translation {
  const clauses = split(question)
  const parts: { text: string; from: number; cel: boolean }[] = []
  const chosen = chosenStates(question)
  let at = 0
  for (const clause of clauses) {
    const from = question.indexOf(clause, at)
    at = from + clause.length
    const words = wordsOf(clause)
    if (!words) {
      parts.push({ text: clause, from, cel: true })
      continue
    }
    const text = words.filter((w) => !stateOf(w)).map(condition).join(' && ')
    if (text) parts.push({ text, from, cel: false })
  }
  const left = statesOf(chosen)
  // "failed -failed" leaves no state, and to the server no states mean all.
  if (left.length === 0 && chosen.demanded.size + chosen.excluded.size > 0) parts.push({ text: 'false', from: question.length, cel: false })
  return {
    where: parts.map((p) => p.text).join(' && '),
    states: left,
    column(of) {
      if (of === undefined) return undefined
      let begin = 0
      for (const part of parts) {
        const length = [...part.text].length
        if (of - 1 <= begin + length) return part.cel ? of - begin + [...question.slice(0, part.from)].length : undefined
        begin += length + ' && '.length
      }
      return undefined
    },
  }
}

interface Chosen {
  demanded: Set<string>
  excluded: Set<string>
}

// statesOf returns the states in question.
function statesOf({ demanded, excluded }: Chosen): State[] {
  if (demanded.size === 0 && excluded.size === 0) return []
  return states.filter((s) => (demanded.size === 0 || demanded.has(s)) && !excluded.has(s))
}

// chosenStates returns the states that plain words demand and exclude.
export function chosenStates(question: string): Chosen {
  const out: Chosen = { demanded: new Set(), excluded: new Set() }
  for (const clause of split(question)) {
    for (const word of wordsOf(clause) ?? []) {
      const state = stateOf(word)
      if (state) (word.not ? out.excluded : out.demanded).add(state)
    }
  }
  return out
}

const write = (words: Word[]) => words.map((w) => (w.not ? `-${w.text}` : w.text)).join(' ')

// withoutStates returns a question without its states.
export function withoutStates(question: string): string {
  return join(
    split(question)
      .map((clause) => {
        const words = wordsOf(clause)
        return words ? write(words.filter((w) => !stateOf(w))) : clause
      })
      .filter((clause) => clause !== ''),
  )
}

// toggleState adds a state to a question, or takes it away.
export function toggleState(question: string, state: string, exclude = false): string {
  const { demanded, excluded } = chosenStates(question)
  const had = (exclude ? excluded : demanded).has(state)
  demanded.delete(state)
  excluded.delete(state)
  if (!had) (exclude ? excluded : demanded).add(state)
  const words = [...[...demanded].map((text) => ({ text, not: false })), ...[...excluded].map((text) => ({ text, not: true }))]
  const rest = split(withoutStates(question))
  const place = rest.findIndex((clause) => wordsOf(clause))
  if (words.length === 0) return join(rest)
  if (place < 0) return join([write(words), ...rest])
  rest[place] += ` ${write(words)}`
  return join(rest)
}
