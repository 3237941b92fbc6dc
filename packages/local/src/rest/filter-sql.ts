import { type ColumnSource, columnSql } from './column-path.ts'
import { type Comparison, type Condition, OPERATORS } from './filter-grammar.ts'
import { RestError } from './rest-error.ts'
import type { SqlParameters } from './sql-text.ts'

/** ` where …`, or nothing where there is no condition. */
export function whereSql(conditions: readonly Condition[], source: ColumnSource, parameters: SqlParameters): string {
  if (conditions.length === 0) return ''
  return ` where ${conditions.map((condition) => conditionSql(condition, source, parameters)).join(' and ')}`
}

function conditionSql(condition: Condition, source: ColumnSource, parameters: SqlParameters): string {
  const sql =
    condition.kind === 'comparison'
      ? comparisonSql(condition, source, parameters)
      : condition.conditions.map((each) => conditionSql(each, source, parameters)).join(` ${condition.kind} `)
  return condition.isNegated ? `not (${sql})` : `(${sql})`
}

function comparisonSql(comparison: Comparison, source: ColumnSource, parameters: SqlParameters): string {
  const { operator, quantifier, configuration } = comparison
  const column = columnSql(comparison.path, source, parameters)
  const rule = OPERATORS[operator]
  switch (rule.takes) {
    case 'list':
      return `${column} = any(${parameters.bind(comparison.value)})`
    case 'constant':
      return `${column} is ${constantOf(comparison.value as string)}`
    case 'search': {
      const value = `${parameters.bind(comparison.value)}::text`
      return configuration === undefined
        ? `${column} @@ ${rule.parser}(${value})`
        : `${column} @@ ${rule.parser}(${parameters.bind(configuration)}::text::regconfig, ${value})`
    }
    case 'value': {
      const text = comparison.value as string
      // A star stands for the percent sign, which would have to be escaped in a URL.
      const value = parameters.bind('isPattern' in rule ? text.replaceAll('*', '%') : text)
      return `${column} ${rule.sql} ${quantifier === undefined ? value : `${quantifier}(${value})`}`
    }
  }
}

const CONSTANTS: Readonly<Record<string, string>> = {
  null: 'null',
  not_null: 'not null',
  true: 'true',
  false: 'false',
  unknown: 'unknown',
}

function constantOf(text: string): string {
  const name = text.toLowerCase()
  if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name] as string
  throw new RestError({
    status: 400,
    code: 'PGRST100',
    message: `"failed to parse filter (is.${text})" (line 1, column 4)`,
    details: `unexpected "${text}" expecting null, not_null, true, false or unknown`,
  })
}
