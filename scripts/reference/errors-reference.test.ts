import { expect, test } from 'vitest'
import { errorsReference } from './errors-reference.ts'

const PAGES: Readonly<Record<string, string>> = {
  SF201: '# SF201 FlowNotFoundError\n\n`Flow "<slug>" does not exist.`\n\n## Why\n',
  SF501: '# SF501: port in use\n\n> Port 54322 is in use.\n',
  SF502: '# SF502 X\n\nThe folder is of another version. It stays as it is.\n',
}

test('each code stands in its area with what its page says first', () => {
  const page = errorsReference(
    { SF502: 'X', SF501: 'PortInUseError', SF201: 'FlowNotFoundError' },
    (code) => PAGES[code]!,
  )
  expect(page).toContain(
    '## Runs\n\n| code | name | says |\n|---|---|---|\n| [SF201](../errors/SF201.md) | FlowNotFoundError | `Flow "<slug>" does not exist.` |\n',
  )
  expect(page).toContain(
    '| [SF501](../errors/SF501.md) | PortInUseError | Port 54322 is in use. |\n| [SF502](../errors/SF502.md) | X | The folder is of another version. |\n',
  )
})

test('a code of an area without a name is an error', () => {
  expect(() => errorsReference({ SG101: 'X' }, () => '')).toThrow('The area of SG101 has no title')
})
