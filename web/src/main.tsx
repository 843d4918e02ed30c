// SPDX-License-Identifier: Apache-2.0

import { render } from 'preact'
import './style.css'
import { App } from './app/App'
import { press } from './app/keys'
import { follow } from './app/router'

document.addEventListener('keydown', press)
document.addEventListener('click', follow)
const root = document.getElementById('app')
if (root) render(<App />, root)
