// SPDX-License-Identifier: Apache-2.0

import { useSignal } from '@preact/signals'

// copy puts a text into the clipboard. It returns false if the browser refuses.
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'hidden'
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}

// CopyButton copies a text. Its pictures are no letters: fonts lack these.
export function CopyButton({ text, title: name }: { text: () => string; title: string }) {
  const done = useSignal(false)
  return (
    <button
      type="button"
      class="tool copy"
      title={name}
      onClick={() => {
        void copy(text()).then((ok) => {
          done.value = ok
          setTimeout(() => (done.value = false), 1500)
        })
      }}
    >
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        {done.value ? <path d="M3 8.5l3.5 3.5L13 5" /> : <path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />}
      </svg>
      <span class="hidden" role="status">{done.value ? 'Copied' : name}</span>
    </button>
  )
}
