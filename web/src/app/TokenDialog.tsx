// SPDX-License-Identifier: Apache-2.0

import { useState } from 'preact/hooks'
import { connection, setToken } from '../api/connection'
import { Dialog } from './Dialog'

// TokenDialog asks for the server's token. It stays in this tab, until the tab is closed.
export function TokenDialog() {
  const [token, change] = useState('')
  const [problem, explain] = useState('')
  const now = connection.value
  if (now.state !== 'token') return null
  return (
    <Dialog title="This server needs its token">
      <form
        onSubmit={(e) => {
          e.preventDefault()
          if (token.trim()) explain(setToken(token))
          change('')
        }}
      >
        {(problem || now.refused) && (
          <p class="wrong" role="alert">
            {problem || 'The server refused that token.'}
          </p>
        )}
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={(e) => change(e.currentTarget.value)}
          autofocus
        />
        <p class="note">
          The content of the file in <code>api.tokenFile</code>. This tab keeps it until it is closed.
        </p>
        <button type="submit" class="main">
          Continue
        </button>
      </form>
    </Dialog>
  )
}
