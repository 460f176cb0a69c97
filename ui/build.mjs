// Builds dist/index.html, the page with everything in it but the data; dist/glowplug.js, the same script for pages that mount it
// themselves; and dist/THIRD-PARTY.txt, the licences of what is in both.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const LARGEST_SCRIPT = 150 * 1024

const { outputFiles, metafile } = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.ts'],
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'Glowplug',
  target: ['chrome90', 'firefox90', 'safari15'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.css': 'text' },
  legalComments: 'none',
  charset: 'ascii',
  metafile: true,
  write: false,
})
const script = outputFiles[0].text.trim()
if (/<\/script|<!--/i.test(script)) throw new Error('The script holds a text that would end its own element.')
if (script.length > LARGEST_SCRIPT) throw new Error(`The script has ${script.length} bytes; ${LARGEST_SCRIPT} are allowed.`)

const hash = `sha256-${createHash('sha256').update(script).digest('base64')}`
const licences = [...new Set(Object.keys(metafile.inputs).map(input => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1]).filter(Boolean))].sort().map(licenceOf).join('\n')

// Replacement by function: the script is full of `$`, which has a meaning in replacement texts.
const page = readFileSync(`${here}template.html`, 'utf8')
  .replace('__SCRIPT_HASH__', () => hash)
  .replace('__SCRIPT__', () => script)
  .replace('__LICENCES__', () => licences.replace(/--+/g, '-'))

rmSync(`${here}dist`, { recursive: true, force: true })
mkdirSync(`${here}dist`)
writeFileSync(`${here}dist/index.html`, page)
writeFileSync(`${here}dist/glowplug.js`, script)
writeFileSync(`${here}dist/THIRD-PARTY.txt`, licences)
console.log(`dist/index.html: ${page.length} bytes, script ${script.length}`)

function licenceOf(name) {
  const { version, license } = JSON.parse(readFileSync(`${here}node_modules/${name}/package.json`, 'utf8'))
  return `${name} ${version} (${license})\n\n${readFileSync(`${here}node_modules/${name}/LICENSE`, 'utf8').trim()}\n`
}
