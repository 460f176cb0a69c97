/** Widths of texts as sums of characters' widths: exact without kerning, and far cheaper than measuring each text. */
export class Ruler {
  private readonly widths = new Map<string, number>()

  constructor(private readonly measure: (character: string) => number) {}

  width(text: string): number {
    let sum = 0
    for (const character of text) sum += this.of(character)
    return sum
  }

  /** The text, or as much of it as fits. The method tells more than its class, and its end more than its middle. */
  fit(text: string, room: number): string {
    // A letter is 2 px or wider, so a long text need not be measured whole.
    if (text.length * 2 <= room && this.width(text) <= room) return text
    const method = text.slice(Math.max(text.lastIndexOf('.'), text.lastIndexOf(' ')) + 1)
    const least = this.of('…') + 4 * this.of('m')
    const methodWidth = method.length * 2 <= room ? this.width(method) : Infinity
    if (methodWidth > room) return this.elide(method, room, room < SHORT ? 0 : 0.5)
    return methodWidth + least > room ? method : this.elide(text, room, (methodWidth + this.of('.')) / (room - this.of('…')))
  }

  private elide(text: string, room: number, tailShare: number): string {
    const characters = [...(text.length > 400 ? text.slice(0, 200) + text.slice(-200) : text)]
    const inner = room - this.of('…')
    let tail = characters.length
    let used = 0
    while (tail > 0 && used + this.of(characters[tail - 1]) <= inner * tailShare) used += this.of(characters[--tail])
    let head = 0
    while (head < tail && used + this.of(characters[head]) <= inner) used += this.of(characters[head++])
    if (head + characters.length - tail < FEWEST) return ''
    return `${characters.slice(0, head).join('')}…${characters.slice(tail).join('')}`
  }

  private of(character: string): number {
    let width = this.widths.get(character)
    if (width === undefined) this.widths.set(character, (width = this.measure(character)))
    return width
  }
}

/** In less room than this a cut method keeps its beginning only, in CSS pixels. */
const SHORT = 70

/** With fewer characters left a label says nothing. */
const FEWEST = 3
