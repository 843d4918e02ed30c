// SPDX-License-Identifier: Apache-2.0

import type { RefObject, VNode } from 'preact'
import { useRef } from 'preact/hooks'

export interface Under {
  element: VNode
  move(e: PointerEvent): void
  leave(): void
}

// useUnder marks the row below the pointer in a list of rows of one height. The mark is an element of its own,
// which only a pointer that moves takes along: with :hover, each row that scrolls below a pointer at rest would get
// another style, and cost a frame.
export function useUnder(list: RefObject<HTMLElement | null>, height: () => number): Under {
  const mark = useRef<HTMLDivElement>(null)
  const last = useRef('')
  const leave = () => {
    last.current = ''
    if (mark.current) mark.current.hidden = true
  }
  const move = (e: PointerEvent) => {
    const place = `${e.clientX} ${e.clientY}`
    if (!list.current || !mark.current || last.current === place) return // a scroll repeats the last event
    if (e.pointerType === 'touch' || !list.current.contains(e.target as Node)) return leave()
    last.current = place
    const y = e.clientY - list.current.getBoundingClientRect().top + list.current.scrollTop
    if (y < 0 || y >= mark.current.parentElement!.offsetHeight) return leave() // beyond the rows
    mark.current.hidden = false
    mark.current.style.transform = `translateY(${Math.floor(y / height()) * height()}px)`
  }
  return { element: <div class="under" ref={mark} hidden aria-hidden="true" style={{ height: `${height()}px` }} />, move, leave }
}
