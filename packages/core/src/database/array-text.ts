/** Reads `{1,NULL,"a \"b\"",{…}}`; bounds in front (`[0:1]={…}`) are left out. */
export function parseArray(text: string, parse: (element: string) => unknown, delimiter = ','): unknown[] {
  let at = text.indexOf('{')
  const readArray = (): unknown[] => {
    const elements: unknown[] = []
    at++
    while (text[at] !== '}') {
      elements.push(text[at] === '{' ? readArray() : text[at] === '"' ? parse(readQuoted()) : readPlain())
      if (text[at] === delimiter) at++
    }
    at++
    return elements
  }
  const readQuoted = (): string => {
    let element = ''
    for (at++; text[at] !== '"'; at++) element += text[at] === '\\' ? text[++at] : text[at]
    at++
    return element
  }
  const readPlain = (): unknown => {
    const start = at
    while (text[at] !== delimiter && text[at] !== '}') at++
    const element = text.slice(start, at)
    return element === 'NULL' ? null : parse(element)
  }
  return readArray()
}

/** Writes a list as Postgres reads it; anything else is a literal already. */
export function serializeArray(value: unknown, serialize: (element: unknown) => unknown, delimiter = ','): unknown {
  if (!Array.isArray(value)) return value
  const elements = value.map((element) => {
    if (Array.isArray(element)) return serializeArray(element, serialize, delimiter)
    if (element === null) return 'NULL'
    return `"${String(serialize(element)).replace(/[\\"]/g, '\\$&')}"`
  })
  return `{${elements.join(delimiter)}}`
}
