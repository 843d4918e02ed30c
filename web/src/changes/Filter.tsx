// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, get } from '../api/client'
import type { LifecyclePage } from '../api/types'
import type { Editor } from './editor'
import { fields, values } from './fields'
import { problem } from './list'
import { isPlain, translate } from './plain'
import { setWhere, where } from './state'

// A check asks for an empty time: the server reads the question, and searches nothing.
const never = '2000-01-01T00:00:00Z'
// The pause after a key before the server checks the question.
const patience = 350
// The pause before a check that had no answer is repeated.
const again = 3000

export const searchId = 'search'

// Filter is the box of the question. It is a plain input until it is focused; the editor with
// completion loads then, and takes its place.
export function Filter() {
  const text = useSignal(where.value)
  const wrong = useSignal<ApiError | undefined>(undefined)
  const input = useRef<HTMLInputElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor | undefined>(undefined)
  const wanted = useRef(false)

  const apply = () => {
    wrong.value = undefined
    if (text.peek().trim() === where.peek()) return
    setWhere(text.peek())
  }
  const reset = () => {
    text.value = where.peek()
    editor.current?.set(text.peek())
  }

  // A facet, "back" or a link changes the question, too.
  useSignalEffect(() => {
    const given = where.value
    if (given === text.peek().trim()) return
    text.value = given
    editor.current?.set(given)
  })

  // The server checks the text while one writes it.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let control: AbortController | undefined
    const end = text.subscribe((now) => {
      clearTimeout(timer)
      control?.abort()
      wrong.value = undefined
      const question = now.trim()
      if (question === '' || question === where.peek()) return
      const cel = translate(question).where
      if (cel === '' || isPlain(question)) return
      const check = () => {
        const asked = (control = new AbortController())
        get<LifecyclePage>('lifecycles', { where: cel, since: never, until: never, limit: 1 }, asked.signal).catch((err: unknown) => {
          if (asked.signal.aborted) return
          if (!(err instanceof ApiError) || err.status !== 400) {
            timer = setTimeout(check, again) // the server is busy or away
            return
          }
          // A question that only ends too early is still being written.
          if (err.column === undefined || err.column <= [...cel].length) wrong.value = placed(err, question)
        })
      }
      timer = setTimeout(check, patience)
    })
    return () => {
      end()
      clearTimeout(timer)
      control?.abort()
      editor.current?.destroy()
    }
  }, [])

  const load = async () => {
    if (wanted.current) return
    wanted.current = true
    try {
      const { open } = await import('./editor')
      const from = input.current
      if (!from || !place.current) return
      const focused = document.activeElement === from
      editor.current = open(place.current, {
        text: text.peek(),
        selection: [from.selectionStart ?? 0, from.selectionEnd ?? 0],
        label: 'Filter: words, or a condition in CEL',
        fields: () => fields(),
        values: (field) => values(field),
        changed: (now) => (text.value = now),
        apply,
        reset: () => {
          reset()
          editor.current?.blur()
        },
      })
      from.hidden = true
      from.removeAttribute('id')
      editor.current.mark(wrong.peek() ?? (problem.peek() && placed(problem.peek()!, where.peek())))
      if (focused) editor.current.focus()
    } catch {
      wanted.current = false // the input works without it
    }
  }

  useSignalEffect(() => {
    const now = wrong.value ?? (problem.value && placed(problem.value, where.value))
    editor.current?.mark(now)
  })

  const refused = problem.value && placed(problem.value, where.value)
  const shown = wrong.value ?? (text.value.trim() === where.value ? refused : undefined)
  return (
    <div class="filter">
      <div class={`box${shown ? ' bad' : ''}`}>
        <span class="prompt" aria-hidden="true">
          find
        </span>
        <input
          ref={input}
          id={searchId}
          class="mono"
          type="text"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-label="Filter: words, or a condition in CEL"
          aria-invalid={shown !== undefined}
          aria-describedby="problem"
          placeholder={'web failed, or: kind == "Pod" && phase.pull > duration("30s")'}
          value={text.value}
          onFocus={load}
          onInput={(e) => (text.value = e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter') apply()
            if (e.key === 'Escape') {
              reset()
              e.currentTarget.blur()
            }
          }}
        />
        <div class="editor" ref={place} />
        {text.value.trim() !== where.value ? (
          <button type="button" class="apply" onClick={apply}>
            Apply <kbd>↵</kbd>
          </button>
        ) : where.value !== '' ? (
          <button type="button" class="tool" aria-label="Remove the filter" onClick={() => setWhere('')}>
            ×
          </button>
        ) : (
          <kbd class="quiet" aria-hidden="true">
            /
          </kbd>
        )}
      </div>
      <div id="problem" role="status" class="problem-place">
        {shown && <Problem of={shown} text={text.value} marked={editor.current !== undefined} />}
      </div>
    </div>
  )
}

// placed returns an error of the server with its place in the text that one wrote.
function placed(err: ApiError, text: string): ApiError {
  return new ApiError(err.status, err.message, err.line, translate(text).column(err.column), err.hint)
}

// focusFilter moves the focus to the box, in either form.
export function focusFilter(): void {
  const input = document.getElementById(searchId)
  if (input) input.focus()
  else document.querySelector<HTMLElement>('.editor')?.dispatchEvent(new CustomEvent('wanted'))
}

// Problem shows an error of the question. The editor marks its place itself.
function Problem({ of, text, marked }: { of: ApiError; text: string; marked: boolean }) {
  const line = text.split('\n')[(of.line ?? 1) - 1] ?? ''
  const column = of.column
  const around = 28
  const begin = Math.max(0, (column ?? 1) - 1 - around)
  const runes = [...line]
  return (
    <div class="problem">
      {column !== undefined && !marked && (
        <pre aria-hidden="true">
          {begin > 0 ? '…' : ''}
          {runes.slice(begin, begin + 2 * around).join('')}
          {'\n'}
          {' '.repeat(column - 1 - begin + (begin > 0 ? 1 : 0))}^
        </pre>
      )}
      <p>
        <bdi>{of.message}</bdi>
        {column !== undefined && <span class="hidden"> at column {column}</span>}
        {of.hint && (
          <>
            {' — '}
            <bdi>{of.hint}</bdi>
          </>
        )}
      </p>
    </div>
  )
}
