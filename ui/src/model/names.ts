/** A function's name as a frame shows it: `Class.method`, or the stage and operator of generated code. */
export function shorten(name: string): string {
  const stage = /\$GeneratedIteratorForCodegenStage(\d+)\.(.+)$/s.exec(name)
  if (stage !== null) return visible(`codegen#${stage[1]} ${operator(stage[2])}`)
  const generated = /\.GeneratedClass\$(Specific\w+|\w+)\.(.+)$/s.exec(name)
  if (generated !== null) return visible(`codegen ${generated[1]}.${operator(generated[2])}`)
  if (!JAVA_NAME.test(name)) return visible(name)
  const method = name.lastIndexOf('.')
  const type = name.lastIndexOf('.', method - 1)
  return visible(`${shortType(name.slice(type + 1, method))}.${shortMethod(name.slice(method + 1))}`)
}

/** Text as it can be shown: what is invisible, or turns its surroundings round, becomes its escape. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, character => {
    const code = character.codePointAt(0) as number
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** The same, cut for a tooltip. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return visible(text)
  // A cut must not leave half a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[length - 1]) ? length - 1 : length
  return `${visible(text.slice(0, end))}… (${text.length.toLocaleString('en')} characters)`
}

const JAVA_NAME = /^(?:[\p{L}_$][\p{L}\p{N}_$-]*[./])+[\p{L}_$][\p{L}\p{N}_$-]*\.[\p{L}\p{N}_$<>]+$/u

// Controls, format characters (zero width, bidi, tags), line separators, lone surrogates, and blanks that show nothing.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]/gu

function operator(method: string): string {
  return method.replace(/_\d+\$$/, '')
}

function shortType(type: string): string {
  return type.replace(/\$\$anon(?:fun)?(?:\$\d+)?/g, '$λ').replace(/\$\$Lambda(?:\$\d+)?.*$/, '$λ').replace(/\$$/, '')
}

function shortMethod(method: string): string {
  const scala = /^\$anonfun\$(.+?)(?:\$\d+)?(?:\$adapted)?$/.exec(method)
  if (scala !== null) return `λ${scala[1]}`
  const java = /^lambda\$(.+?)\$\d+$/.exec(method)
  return java === null ? method : `λ${java[1]}`
}
