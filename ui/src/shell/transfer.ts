import { gzipSync, strToU8 } from 'fflate'
import { collapsed } from '../model/collapsed'
import type { Tree } from '../model/page'

/** Saves collapsed stacks, gzipped as they are made: plain, they can be a hundred times the page. */
export async function saveCollapsed(tree: Tree, self: Float64Array, names: readonly string[], file: string): Promise<void> {
  const blob = await gzip(collapsed(tree, self, names))
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = file
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Plain http has no clipboard interface: the old command still works there.
    const area = document.createElement('textarea')
    area.value = text
    area.style.position = 'fixed'
    area.style.opacity = '0'
    document.body.append(area)
    area.select()
    const copied = document.execCommand('copy')
    area.remove()
    return copied
  }
}

async function gzip(chunks: Iterable<string>): Promise<Blob> {
  if (typeof CompressionStream === 'undefined') return new Blob([gzipSync(strToU8([...chunks].join(''))) as BlobPart], { type: 'application/gzip' })
  const stream = new CompressionStream('gzip')
  const result = new Response(stream.readable).blob()
  const writer = stream.writable.getWriter()
  const encoder = new TextEncoder()
  for (const chunk of chunks) await writer.write(encoder.encode(chunk) as BufferSource)
  await writer.close()
  return new Blob([await result], { type: 'application/gzip' })
}
