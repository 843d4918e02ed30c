// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

// Dialog is a modal dialog. Escape, its button and a click beside it close it; without onClose it
// stays.
export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault()
        onClose?.()
      }}
      onClose={(e) => {
        // Chromium closes a dialog at the second Escape, whatever the first one's event led to.
        const dialog = e.currentTarget
        if (!dialog.isConnected || dialog.open) return
        if (onClose) onClose()
        else dialog.showModal()
      }}
      onClick={(e) => {
        if (e.target === ref.current) onClose?.()
      }}
    >
      <div class="dialog">
        <div class="dialog-head">
          <h2>{title}</h2>
          {onClose && (
            <button type="button" class="tool" onClick={onClose} aria-label="Close">
              ×
            </button>
          )}
        </div>
        {children}
      </div>
    </dialog>
  )
}
