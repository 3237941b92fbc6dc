import { RestError } from './rest-error.ts'

/** The header `Prefer`, as far as it is honoured. */
export interface Preferences {
  readonly return: 'minimal' | 'representation' | 'headers-only' | undefined
  readonly count: 'exact' | 'planned' | 'estimated' | undefined
  readonly resolution: 'merge-duplicates' | 'ignore-duplicates' | undefined
  /** What a column gets that a row of the body does not have. */
  readonly missing: 'default' | 'null' | undefined
  readonly handling: 'strict' | 'lenient' | undefined
  readonly maxAffected: number | undefined
}

const VALUES: Readonly<Record<string, readonly string[]>> = {
  return: ['minimal', 'representation', 'headers-only'],
  count: ['exact', 'planned', 'estimated'],
  resolution: ['merge-duplicates', 'ignore-duplicates'],
  missing: ['default', 'null'],
  handling: ['strict', 'lenient'],
}

/** Unknown preferences are ignored, as HTTP wants it, but under `handling=strict`: then PGRST122 names them. */
export function parsePreferences(header: string | undefined): Preferences {
  const found = new Map<string, string>()
  const unknown: string[] = []
  for (const token of (header ?? '').split(',').map((each) => each.trim())) {
    const [name = '', value = ''] = token.split('=')
    const isKnown = name === 'max-affected' ? /^\d{1,9}$/.test(value) : VALUES[name]?.includes(value) === true
    if (isKnown && !found.has(name)) found.set(name, value)
    // Ending a transaction otherwise than by commit is not for callers, here as on hosted projects.
    else if (!isKnown && token !== '' && name !== 'tx') unknown.push(token)
  }
  const isStrict = found.get('handling') === 'strict'
  if (isStrict && unknown.length > 0) {
    throw new RestError({
      status: 400,
      code: 'PGRST122',
      message: 'Invalid preferences given with handling=strict',
      details: `Invalid preferences: ${unknown.join(', ')}`,
    })
  }
  const maxAffected = found.get('max-affected')
  return {
    return: found.get('return') as Preferences['return'],
    count: found.get('count') as Preferences['count'],
    resolution: found.get('resolution') as Preferences['resolution'],
    missing: found.get('missing') as Preferences['missing'],
    handling: found.get('handling') as Preferences['handling'],
    maxAffected: isStrict && maxAffected !== undefined ? Number(maxAffected) : undefined,
  }
}

/** The header `Preference-Applied`, or undefined where nothing was. */
export function appliedPreferences(preferences: Preferences): string | undefined {
  const { maxAffected, ...named } = preferences
  const applied = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  if (maxAffected !== undefined) applied.push(`max-affected=${maxAffected}`)
  return applied.length === 0 ? undefined : applied.join(', ')
}
