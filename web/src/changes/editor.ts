// SPDX-License-Identifier: Apache-2.0

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  completionStatus,
  insertCompletionText,
  pickedCompletion,
  selectedCompletionIndex,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { EditorState, StateEffect, StateField, Transaction } from '@codemirror/state'
import { Decoration, EditorView, keymap, type DecorationSet } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { ApiError } from '../api/client'
import type { Field } from '../api/types'
import { states } from '../text/states'
import { quote } from '../text/text'
import { isPlain } from './plain'

// The editor of questions: one line of CEL with completion. It is a chunk of its own, which loads when
// the box is focused first.

export interface Options {
  text: string
  selection: [number, number]
  label: string
  fields(): Promise<Field[]>
  values(field: string): Promise<string[]>
  changed(text: string): void
  apply(): void
  reset(): void
}

export interface Editor {
  set(text: string): void
  mark(problem: ApiError | undefined): void
  focus(): void
  blur(): void
  destroy(): void
}

const language = StreamLanguage.define<null>({
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null
    if (stream.match(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/)) return 'string'
    if (stream.match(/\d+(?:\.\d+)?/)) return 'number'
    if (stream.match(/(?:true|false|null|in)\b/)) return 'keyword'
    if (stream.match(/[A-Za-z_]\w*(?=\s*\()/)) return 'keyword'
    if (stream.match(/[A-Za-z_][\w.]*/)) return 'variableName'
    if (stream.match(/&&|\|\||[=!<>]=?|[+\-?:]/)) return 'operator'
    stream.next()
    return null
  },
})

const colours = HighlightStyle.define([
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--good)' },
  { tag: tags.keyword, color: 'var(--accent)' },
  { tag: tags.operator, color: 'var(--soft)' },
])

const look = EditorView.theme({
  '&': { fontSize: '13px', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '24px', overflowX: 'auto', scrollbarWidth: 'none' },
  '.cm-content': { padding: '0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0' },
  '.cm-wrong': { textDecoration: 'underline wavy var(--bad-bar)', textUnderlineOffset: '3px' },
  '.cm-tooltip': {
    backgroundColor: 'var(--ground)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: '0 6px 20px rgb(0 0 0 / 18%)',
    color: 'var(--ink)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '18em', minWidth: '260px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px', display: 'flex', gap: '12px', lineHeight: '1.6' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-ground)', color: 'var(--ink)' },
  '.cm-completionDetail': { marginLeft: 'auto', color: 'var(--soft)', fontStyle: 'normal' },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)' },
  '.cm-completionInfo': { fontFamily: 'var(--sans)', padding: '6px 10px', maxWidth: '280px', color: 'var(--soft)' },
  '.cm-selectionBackground': { backgroundColor: 'var(--accent-ground)' },
})

const setMark = StateEffect.define<DecorationSet>()
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMark)) return effect.value
    return transaction.docChanged ? Decoration.none : value
  },
  provide: (field) => EditorView.decorations.from(field),
})

const functions: Completion[] = [
  { label: 'has', apply: 'has(', detail: 'is the value there?', type: 'function' },
  { label: 'duration', apply: 'duration("', detail: '"30s", "5m"', type: 'function' },
  { label: 'timestamp', apply: 'timestamp("', detail: 'RFC 3339', type: 'function' },
  { label: 'size', apply: 'size(', detail: 'of a list', type: 'function' },
  { label: 'now', detail: 'timestamp', type: 'variable' },
]

const methods: Record<string, string[]> = {
  string: ['contains', 'startsWith', 'endsWith', 'matches'],
  'list(string)': ['exists', 'all'],
}

const operators: Record<string, string[]> = {
  string: ['==', '!=', 'in'],
  int: ['==', '>', '<'],
  duration: ['>', '<', '>=', '<='],
  timestamp: ['>', '<'],
}

function complete(o: Options) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.state.sliceDoc(0, context.pos)
    // A value: field == "…, field in ["…, "…
    const value = /([a-z][\w.]*)\s*(?:(?:==|!=)\s*|in\s*\[(?:\s*"[^"]*"\s*,)*\s*)("?)((?:[^"\\&|]|\\.)*)$/.exec(before)
    if (value && (value[2] === '"' || (value[3] ?? '').trim() === '')) {
      const list = await o.values(value[1]!)
      if (list.length > 0) {
        const from = context.pos - value[3]!.length - value[2]!.length
        return {
          from,
          options: list
            .slice(0, 200)
            .map((v, i) => ({ label: quote(v), boost: -i / 10, type: 'text', apply: insertValue })),
          validFor: /^(?:"[^"&|]*|[^"&|\s][^"&|]*)?$/,
        }
      }
      if (value[2]) return null
    }
    if ((before.match(/"/g)?.length ?? 0) % 2 === 1) return null
    const all = await o.fields()
    // A method, after a dot at the end of a field.
    const method = /([a-z][\w.]*)\.(\w*)$/.exec(before)
    const owner = method && all.find((f) => f.name === method[1])
    if (method && owner && methods[owner.type]) {
      return {
        from: context.pos - method[2]!.length,
        options: methods[owner.type]!.map((name) => ({
          label: name,
          apply: owner.type === 'string' ? `${name}("` : `${name}(i, i.`,
          type: 'function',
        })),
      }
    }
    // An operator, after a field and a space.
    const operand = /(?:^|[(&|!\s])([a-z][\w.]*)\s+$/.exec(before)
    const field = operand && all.find((f) => f.name === operand[1])
    if (field && operators[field.type]) {
      return { from: context.pos, options: operators[field.type]!.map((name) => ({ label: name, apply: `${name} `, type: 'keyword' })) }
    }
    const word = context.matchBefore(/[a-z][\w.]*/i)
    if (!word && !context.explicit && !/(?:^|&&|\|\||\(|!)\s*$/.test(before)) return null
    const whole = /(?:"|\)|\]|\d)\s+$/.test(before)
    return {
      from: word?.from ?? context.pos,
      options: whole
        ? ['&&', '||'].map((label) => ({ label, apply: `${label} `, type: 'keyword' }))
        : [
            ...all.map((f, i) => ({ label: f.name, detail: f.type, info: f.meaning, type: 'property', boost: 50 - i })),
            ...functions,
            ...(isPlain(before) ? states.map((label) => ({ label, detail: 'state', type: 'keyword', boost: 60 })) : []),
          ],
      validFor: /^[\w.]*$/,
    }
  }
}

// insertValue inserts a text in quotes. A quote that was closed by itself belongs to it.
function insertValue(view: EditorView, completion: Completion, from: number, to: number): void {
  const opened = view.state.sliceDoc(from, from + 1) === '"'
  const end = opened && view.state.sliceDoc(to, to + 1) === '"' ? to + 1 : to
  view.dispatch({
    ...insertCompletionText(view.state, completion.label, from, end),
    selection: { anchor: from + completion.label.length },
    annotations: pickedCompletion.of(completion),
  })
}

// open shows the editor in an element. Its root is a shadow tree: there its style sheet is an adopted
// one, which the policy of the page permits.
export function open(place: HTMLElement, o: Options): Editor {
  const root = place.attachShadow({ mode: 'open' })
  const length = o.text.length
  let quiet = false
  const enter = (view: EditorView): boolean => {
    // Plain words are complete as they are. The keys choose another option than the first.
    const chooses = !isPlain(view.state.doc.toString()) || (selectedCompletionIndex(view.state) ?? 0) > 0
    if (chooses && completionStatus(view.state) === 'active' && acceptCompletion(view)) return true
    o.apply()
    return true
  }
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: o.text,
      selection: { anchor: Math.min(o.selection[0], length), head: Math.min(o.selection[1], length) },
      extensions: [
        // A question is one line: pasted line breaks become spaces.
        EditorState.transactionFilter.of((transaction) =>
          transaction.docChanged && transaction.newDoc.lines > 1
            ? [transaction, { changes: breaks(transaction), sequential: true }]
            : transaction,
        ),
        history(),
        closeBrackets(),
        autocompletion({ override: [complete(o)], icons: false, activateOnCompletion: () => true, defaultKeymap: false }),
        language,
        syntaxHighlighting(colours),
        marks,
        look,
        EditorView.contentAttributes.of({ 'aria-label': o.label, 'aria-describedby': 'problem', 'aria-multiline': 'false' }),
        keymap.of([
          ...completionKeymap.filter((k) => k.key !== 'Enter'), // see enter
          { key: 'Tab', run: acceptCompletion },
          { key: 'Enter', run: enter },
          {
            key: 'Escape',
            run: () => {
              o.reset()
              return true
            },
          },
          ...closeBracketsKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) o.changed(update.state.doc.toString())
        }),
      ],
    }),
  })
  place.addEventListener('wanted', () => view.focus())
  return {
    set(text) {
      if (text === view.state.doc.toString()) return
      quiet = true
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: text.length },
        annotations: Transaction.addToHistory.of(true),
      })
      quiet = false
    },
    mark(problem) {
      let found: DecorationSet = Decoration.none
      if (problem?.column !== undefined) {
        // The place is in characters, the document in UTF-16.
        const text = view.state.doc.toString()
        const from = Math.min([...text].slice(0, problem.column - 1).join('').length, text.length)
        const rest = /^(?:[\w.]+|"(?:[^"\\]|\\.)*"?|\S)/.exec(text.slice(from))
        const to = from + (rest?.[0].length ?? 0)
        if (to > from) found = Decoration.set(Decoration.mark({ class: 'cm-wrong' }).range(from, to))
      }
      view.dispatch({ effects: setMark.of(found) })
    },
    focus: () => view.focus(),
    blur: () => view.contentDOM.blur(),
    destroy: () => view.destroy(),
  }
}

function breaks(transaction: Transaction): { from: number; to: number; insert: string }[] {
  const out = []
  const text = transaction.newDoc.toString()
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) out.push({ from: i, to: i + 1, insert: ' ' })
  return out
}
