// SPDX-License-Identifier: Apache-2.0

import { quote } from '../text/text'

// A question in CEL as a list of clauses with && between, so that a click can add one, change it and
// take it away. Clauses of another form than those of `read` stay as they are.

// split returns the clauses of a question. One with || or ? at the top is a single clause.
export function split(question: string): string[] {
  const out: string[] = []
  let depth = 0
  let begin = 0
  for (let i = 0; i < question.length; i++) {
    const c = question[i]
    if (c === '"' || c === "'") i = skip(question, i)
    else if (c === '(' || c === '[' || c === '{') depth++
    else if (c === ')' || c === ']' || c === '}') depth--
    else if (depth === 0) {
      const two = question.slice(i, i + 2)
      if (two === '||' || c === '?') return [question.trim()]
      if (two === '&&') {
        out.push(question.slice(begin, i).trim())
        begin = i + 2
        i++
      }
    }
  }
  out.push(question.slice(begin).trim())
  return out.filter((clause) => clause !== '')
}

// skip returns the index of the quote that ends the text that begins at i.
function skip(question: string, i: number): number {
  const quote = question[i]
  for (i++; i < question.length && question[i] !== quote; i++) if (question[i] === '\\') i++
  return i
}

export function join(clauses: string[]): string {
  if (clauses.length < 2) return clauses.join('')
  return clauses.map((clause) => (loose(clause) ? `(${clause})` : clause)).join(' && ')
}

// loose reports whether a clause needs parentheses beside &&.
function loose(clause: string): boolean {
  let depth = 0
  for (let i = 0; i < clause.length; i++) {
    const c = clause[i]
    if (c === '"' || c === "'") i = skip(clause, i)
    else if (c === '(' || c === '[') depth++
    else if (c === ')' || c === ']') depth--
    else if (depth === 0 && (c === '?' || clause.startsWith('||', i))) return true
  }
  return false
}

// Choice are the values of a field that a clause demands, or excludes.
export interface Choice {
  field: string
  values: string[]
  exclude: boolean
}

const text = String.raw`"(?:[^"\\]|\\.)*"`
const equal = new RegExp(String.raw`^([a-z][\w.]*)\s*(==|!=)\s*(${text})$`)
const member = new RegExp(String.raw`^(!\s*\(\s*)?([a-z][\w.]*)\s+in\s+(\[\s*(?:${text}\s*,\s*)*${text}\s*\])\s*(\))?$`)

// read returns the choice that a clause states; undefined for another clause.
export function read(clause: string): Choice | undefined {
  try {
    let match = equal.exec(clause)
    if (match) return { field: match[1]!, values: [JSON.parse(match[3]!) as string], exclude: match[2] === '!=' }
    match = member.exec(clause)
    if (match && (match[1] === undefined) === (match[4] === undefined)) {
      return { field: match[2]!, values: JSON.parse(match[3]!) as string[], exclude: match[1] !== undefined }
    }
  } catch {
    // CEL has escapes that JSON has not.
  }
  return undefined
}

function write({ field, values, exclude }: Choice): string[] {
  const quoted = values.map(quote)
  if (quoted.length === 0) return []
  if (quoted.length === 1) return [`${field} ${exclude ? '!=' : '=='} ${quoted[0]}`]
  const list = `${field} in [${quoted.join(', ')}]`
  return [exclude ? `!(${list})` : list]
}

// chosen returns the values of a field that a question demands and excludes.
export function chosen(question: string, field: string): { demanded: Set<string>; excluded: Set<string> } {
  const demanded = new Set<string>()
  const excluded = new Set<string>()
  for (const clause of split(question)) {
    const choice = read(clause)
    if (choice?.field === field) for (const v of choice.values) (choice.exclude ? excluded : demanded).add(v)
  }
  return { demanded, excluded }
}

// toggle adds a value of a field to a question, or takes it away.
export function toggle(question: string, field: string, value: string, exclude = false): string {
  const clauses = split(question)
  const { demanded, excluded } = chosen(question, field)
  const had = (exclude ? excluded : demanded).has(value)
  demanded.delete(value)
  excluded.delete(value)
  if (!had) (exclude ? excluded : demanded).add(value)
  const place = clauses.findIndex((clause) => read(clause)?.field === field)
  const rest = clauses.filter((clause) => read(clause)?.field !== field)
  rest.splice(
    place < 0 ? rest.length : place,
    0,
    ...write({ field, values: [...demanded], exclude: false }),
    ...write({ field, values: [...excluded], exclude: true }),
  )
  return join(rest)
}

// without returns a question without the choices of a field.
export function without(question: string, field: string): string {
  return join(split(question).filter((clause) => read(clause)?.field !== field))
}
