import assert from 'node:assert/strict'
import { type CheckContext, clientOf, type SupabaseCheck, uniqueName } from './supabase-check.ts'

const check = (title: string, run: SupabaseCheck['run']): SupabaseCheck => ({ title, run })

const service = (context: CheckContext) => clientOf(context, context.serviceRoleKey).schema('shop')
const anonymous = (context: CheckContext) => clientOf(context, context.anonKey).schema('shop')
const user = (context: CheckContext) => clientOf(context, context.publishableKey, context.userToken).schema('shop')

/** Three orders with one prefix: a (n null, input), b (n 1), c (n 2, input). Gives the prefix. */
async function threeOrders(context: CheckContext): Promise<string> {
  const prefix = uniqueName('orders')
  const { error } = await service(context)
    .from('orders')
    .insert([
      { slug: `${prefix}-a`, input: { x: 1, s: 'é' } },
      { slug: `${prefix}-b`, n: 1 },
      { slug: `${prefix}-c`, n: 2, input: { a: [1, 2], deep: { 'odd key': 'found' } } },
    ])
  assert.equal(error, null)
  return prefix
}

const letter = (slug: string) => slug.at(-1)
const letters = (rows: readonly { slug: string }[] | null) => rows?.map(({ slug }) => letter(slug)).join('')

/** What supabase-js does with functions and tables, each by its own data. */
export const restChecks: readonly SupabaseCheck[] = [
  // Functions
  check('a function that returns a set gives its rows', async (context) => {
    const slug = uniqueName('placed')
    const { data, status } = await service(context).rpc('place_order', { slug, input: { x: 1, s: 'é' } })
    assert.equal(status, 200)
    assert.deepEqual([data.length, data[0].slug, data[0].input], [1, slug, { x: 1, s: 'é' }])
  }),
  check('a function that returns a JSON document gives the document', async (context) => {
    const prefix = await threeOrders(context)
    const { data: order } = await service(context).from('orders').select('id').eq('slug', `${prefix}-a`).single()
    const { data } = await service(context).rpc('order_document', { id: order?.id })
    assert.equal(data.order.id, order?.id)
  }),
  check('a scalar function gives its value, and a default stands for what is left out', async (context) => {
    assert.equal((await service(context).rpc('add', { a: 1 })).data, 11)
    assert.equal((await service(context).rpc('add', { a: 1, b: 2 })).data, 3)
  }),
  check('a void function gives 204 and no body', async (context) => {
    const { data, error, status } = await service(context).rpc('nothing')
    assert.deepEqual([data, error, status], [null, null, 204])
  }),
  check('the rows of a function are filtered, ordered and limited', async (context) => {
    const { data } = await service(context)
      .rpc('numbered', { k: 5 })
      .gt('x', 2)
      .order('x', { ascending: false })
      .limit(2)
    assert.deepEqual(data, [
      { x: 5, y: 'v5' },
      { x: 4, y: 'v4' },
    ])
  }),
  check('the one row of a function is taken by single', async (context) => {
    assert.deepEqual((await service(context).rpc('numbered', { k: 1 }).single()).data, { x: 1, y: 'v1' })
  }),
  check('a function is called by GET, with its arguments in the URL', async (context) => {
    assert.equal((await service(context).rpc('add', { a: 2, b: 3 }, { get: true })).data, 5)
  }),
  check('a function that does not exist is PGRST202, 404', async (context) => {
    const { error, status } = await service(context).rpc('nope', { a: 1 })
    assert.deepEqual([error?.code, status], ['PGRST202', 404])
    assert.equal(error?.message, 'Could not find the function shop.nope(a) in the schema cache')
  }),
  check('what a function raises arrives with message, detail and hint, 400', async (context) => {
    const { error, status } = await service(context).rpc('fail')
    assert.deepEqual(
      [error?.code, error?.message, error?.details, error?.hint, status],
      ['P0001', 'boom', 'the detail', 'try later', 400],
    )
  }),
  check('a set of scalars, output parameters and a single row have the shapes of PostgREST', async (context) => {
    assert.deepEqual((await service(context).rpc('names')).data, ['a', 'b'])
    assert.deepEqual((await service(context).rpc('pair')).data, { a: 1, b: 'one' })
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .rpc('one_order', { slug: `${prefix}-b` })
      .select('n')
    assert.deepEqual(data, { n: 1 })
  }),
  check('a variadic function takes a list, and an unnamed JSON parameter the whole body', async (context) => {
    assert.equal((await service(context).rpc('joined', { words: ['a', 'b', 'c'] })).data, 'a-b-c')
    assert.deepEqual((await service(context).rpc('echo', { any: [1, null], thing: 'é' })).data, {
      any: [1, null],
      thing: 'é',
    })
  }),
  check('overloads that both fit are PGRST203, 300, and missing arguments PGRST202', async (context) => {
    const both = await service(context).rpc('overloaded', { a: 1 })
    assert.deepEqual([both.error?.code, both.status], ['PGRST203', 300])
    assert.match(both.error?.message ?? '', /shop\.overloaded\(a => integer\), shop\.overloaded\(a => text\)/)
    const none = await service(context).rpc('add', {})
    assert.deepEqual([none.error?.code, none.status], ['PGRST202', 404])
  }),
  check('a function that writes is refused by GET, 405', async (context) => {
    const { error, status } = await service(context).rpc('place_order', { slug: 'x', input: '{}' }, { get: true })
    assert.deepEqual([error?.code, status], ['25006', 405])
  }),
  check('an error of the class PT chooses its HTTP status', async (context) => {
    const { error, status } = await service(context).rpc('teapot')
    assert.deepEqual([error?.message, status], ['short and stout', 418])
  }),
  check('the rows of a function are counted, and a part of them is 206', async (context) => {
    const { data, count, status } = await service(context).rpc('numbered', { k: 5 }, { count: 'exact' }).range(1, 2)
    assert.deepEqual([data?.length, count, status], [2, 5, 206])
  }),

  // Tables
  check('an update returns what it changed, with every digit of its times', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .from('orders')
      .update({ status: 'done', done_at: '2026-01-01T00:00:00.123456Z' })
      .eq('slug', `${prefix}-a`)
      .select('slug,status,done_at')
      .single()
    assert.deepEqual(data, { slug: `${prefix}-a`, status: 'done', done_at: '2026-01-01T00:00:00.123456+00:00' })
  }),
  check('an update whose condition no row fulfils changes none', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .from('orders')
      .update({ status: 'x' })
      .eq('slug', `${prefix}-a`)
      .eq('status', 'done')
      .select()
    assert.deepEqual(data, [])
  }),
  check('many rows are inserted at once and returned, 201', async (context) => {
    const slug = uniqueName('many')
    const { data, status } = await service(context)
      .from('orders')
      .insert([
        { slug, n: 1 },
        { slug, n: 2, input: { a: [1, 2] } },
      ])
      .select('n,input')
    assert.equal(status, 201)
    assert.deepEqual(data, [
      { n: 1, input: null },
      { n: 2, input: { a: [1, 2] } },
    ])
  }),
  check('an insert that asks for nothing back gets 201 and no body', async (context) => {
    const { data, error, status } = await service(context)
      .from('orders')
      .insert({ slug: uniqueName('minimal') })
    assert.deepEqual([data, error, status], [null, null, 201])
  }),
  check('rows are selected by lists and null, with parts of their JSON under other names', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .from('orders')
      .select('n,input->a,k:input->deep->>"odd key",first:input->a->0')
      .in('slug', [`${prefix}-a`, `${prefix}-c`, 'we,ird', 'a"b'])
      .is('done_at', null)
      .order('slug')
    assert.deepEqual(data, [
      { n: null, a: null, k: null, first: null },
      { n: 2, a: [1, 2], k: 'found', first: 1 },
    ])
  }),
  check('a count without rows comes by HEAD', async (context) => {
    const prefix = await threeOrders(context)
    const { count, data } = await service(context)
      .from('orders')
      .select('*', { count: 'exact', head: true })
      .like('slug', `${prefix}%`)
    assert.deepEqual([count, data], [3, null])
  }),
  check('a range gives its rows and the count of all, 206', async (context) => {
    const prefix = await threeOrders(context)
    const { data, count, status } = await service(context)
      .from('orders')
      .select('slug', { count: 'exact' })
      .like('slug', `${prefix}*`)
      .order('slug')
      .range(1, 2)
    assert.deepEqual([letters(data), count, status], ['bc', 3, 206])
  }),
  check('conditions are joined by or, and, and not', async (context) => {
    const prefix = await threeOrders(context)
    const orders = () => service(context).from('orders').select('slug').like('slug', `${prefix}%`).order('slug')
    assert.equal(letters((await orders().or(`n.eq.1,and(n.gt.1,slug.eq.${prefix}-c)`)).data), 'bc')
    assert.equal(letters((await orders().or(`slug.in.("${prefix}-a","x,y"),not.and(n.gte.0,n.lte.1)`)).data), 'ac')
    assert.equal(letters((await orders().or('input->>s.eq.é,input.cs.{"a":[2]}')).data), 'ac')
  }),
  check('a condition is negated', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .from('orders')
      .select('slug')
      .like('slug', `${prefix}%`)
      .not('n', 'is', null)
      .order('slug')
    assert.equal(letters(data), 'bc')
  }),
  check('maybeSingle gives null where no row is', async (context) => {
    const { data, error } = await service(context).from('orders').select().eq('slug', 'none').maybeSingle()
    assert.deepEqual([data, error], [null, null])
  }),
  check('single is PGRST116, 406, where no row is, and where several are', async (context) => {
    const none = await service(context).from('orders').select().eq('slug', 'none').single()
    assert.deepEqual(
      [none.error?.code, none.status, none.error?.details],
      ['PGRST116', 406, 'The result contains 0 rows'],
    )
    const prefix = await threeOrders(context)
    const many = await service(context).from('orders').select().like('slug', `${prefix}%`).single()
    assert.deepEqual(
      [many.error?.code, many.status, many.error?.details],
      ['PGRST116', 406, 'The result contains 3 rows'],
    )
  }),
  check('an upsert replaces the row of its key, or leaves it', async (context) => {
    const slug = uniqueName('tag')
    const tags = service(context).from('tags')
    await tags.insert({ slug, labels: ['old'] })
    assert.deepEqual(
      (
        await tags
          .upsert({ slug, labels: ['new'] })
          .select('labels')
          .single()
      ).data,
      { labels: ['new'] },
    )
    const ignored = await tags
      .upsert({ slug, labels: ['ignored'] }, { onConflict: 'slug', ignoreDuplicates: true })
      .select()
    assert.deepEqual(ignored.data, [])
    assert.deepEqual((await tags.select('labels').eq('slug', slug).single()).data, { labels: ['new'] })
  }),
  check('a delete returns what it removed', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context).from('orders').delete().eq('slug', `${prefix}-b`).select('slug')
    assert.equal(letters(data), 'b')
  }),
  check('anon may not write what only others may: 42501, 401', async (context) => {
    const { error, status } = await anonymous(context).from('orders').insert({ slug: 'no' })
    assert.deepEqual([error?.code, status], ['42501', 401])
  }),
  check('row-level security decides which rows a role sees', async (context) => {
    const prefix = await threeOrders(context)
    await service(context)
      .from('orders')
      .insert({ slug: `${prefix}-d`, owner: context.userId })
    const orders = (client: ReturnType<typeof service>) =>
      client.from('orders').select('slug').like('slug', `${prefix}%`).order('slug')
    assert.equal(letters((await orders(anonymous(context))).data), 'abc')
    assert.equal(letters((await orders(user(context))).data), 'd')
    assert.equal(letters((await orders(service(context))).data), 'abcd')
  }),
  check('a schema that is not exposed is PGRST106, 406, and the exposed ones are named', async (context) => {
    const { error, status } = await clientOf(context, context.secretKey).schema('auth').from('users').select()
    assert.deepEqual([error?.code, status], ['PGRST106', 406])
    assert.equal(error?.hint, 'Only the following schemas are exposed: public, shop')
  }),
  check('a table that does not exist is PGRST205, 404', async (context) => {
    const { error, status } = await service(context).from('nope').select()
    assert.deepEqual([error?.code, status], ['PGRST205', 404])
  }),
  check('an opaque key is as good as a token of its role', async (context) => {
    const who = async (key: string) => (await clientOf(context, key).schema('shop').rpc('whoami')).data.role
    assert.deepEqual(
      [
        await who(context.publishableKey),
        await who(context.secretKey),
        await who(context.anonKey),
        await who(context.serviceRoleKey),
      ],
      ['anon', 'service_role', 'anon', 'service_role'],
    )
  }),
  check('a user is authenticated by their token, and functions read its claims', async (context) => {
    const { data } = await user(context).rpc('whoami')
    assert.deepEqual([data.role, data.uid, data.claims.sub], ['authenticated', context.userId, context.userId])
    assert.deepEqual([data.method, data.path], ['POST', '"shop", "public", "extensions"'])
  }),
  check('two users write and see their own rows only', async (context) => {
    const slug = uniqueName('own')
    const other = clientOf(context, context.publishableKey, context.otherToken).schema('shop')
    const mine = await user(context).from('orders').insert({ slug, owner: context.userId }).select('slug')
    assert.deepEqual([mine.status, mine.data], [201, [{ slug }]])
    const foreign = await other.from('orders').insert({ slug, owner: context.userId })
    assert.deepEqual([foreign.error?.code, foreign.status], ['42501', 403])
    assert.deepEqual((await other.from('orders').select().eq('slug', slug)).data, [])
    assert.deepEqual((await other.from('orders').update({ n: 9 }).eq('slug', slug).select()).data, [])
  }),
  check('a column is cast in the answer, and long numbers keep their digits', async (context) => {
    const slug = uniqueName('cast')
    await context.sql(`insert into shop.orders (slug, n, big) values ('${slug}', 7, 9007199254740993)`)
    const { data } = await service(context).from('orders').select('n::text,big::text').eq('slug', slug).single()
    assert.deepEqual(data, { n: '7', big: '9007199254740993' })
    const answer = await fetch(`${context.url}/rest/v1/orders?select=big&slug=eq.${slug}`, {
      headers: { apikey: context.secretKey, 'accept-profile': 'shop', accept: 'application/vnd.pgrst.object+json' },
    })
    assert.equal(await answer.text(), '{"big":9007199254740993}')
  }),
  check('arrays, ranges, patterns and text search have their operators', async (context) => {
    const slug = uniqueName('tag')
    const tags = service(context).from('tags')
    await tags.insert({ slug, labels: ['red', 'big'], period: '[1,5)' })
    const found = async (query: PromiseLike<{ data: unknown[] | null; error: unknown }>) => {
      const { data, error } = await query
      assert.equal(error, null)
      return data?.length
    }
    const mine = () => tags.select('slug').eq('slug', slug)
    assert.equal(await found(mine().contains('labels', ['red'])), 1)
    assert.equal(await found(mine().containedBy('labels', ['red'])), 0)
    assert.equal(await found(mine().overlaps('labels', ['small', 'big'])), 1)
    assert.equal(await found(mine().rangeGt('period', '[0,1)')), 1)
    assert.equal(await found(mine().rangeAdjacent('period', '[5,9)')), 1)
    assert.equal(await found(mine().ilike('slug', 'TAG-%')), 1)
    assert.equal(await found(mine().likeAnyOf('slug', ['x%', 'tag-%'])), 1)
    assert.equal(await found(mine().likeAllOf('slug', ['x%', 'tag-%'])), 0)
    assert.equal(await found(mine().filter('slug', 'match', '^tag-[0-9a-f]+')), 1)
    assert.equal(await found(mine().textSearch('slug', 'nothing', { config: 'english' })), 0)
    assert.equal(await found(mine().neq('slug', slug)), 0)
  }),
  check('rows are ordered by several columns, with nulls where they are wanted', async (context) => {
    const prefix = await threeOrders(context)
    const orders = () => service(context).from('orders').select('slug').like('slug', `${prefix}%`)
    assert.equal(letters((await orders().order('n', { nullsFirst: true }).order('slug')).data), 'abc')
    assert.equal(letters((await orders().order('n', { ascending: false, nullsFirst: false })).data), 'cba')
    assert.equal(letters((await orders().order('input->>s').order('slug', { ascending: false })).data), 'acb')
  }),
  check(
    'rows with other columns than their neighbours get null, or the default where it is asked for',
    async (context) => {
      const notes = clientOf(context, context.secretKey).from('notes')
      const withDefaults = await notes
        .insert([{ text: 'given' }, {}], { defaultToNull: false })
        .select('text')
        .order('text')
      assert.deepEqual(withDefaults.data, [{ text: 'empty' }, { text: 'given' }])
      const withNull = await notes.insert([{ text: 'given' }, {}]).select('text')
      assert.deepEqual([withNull.error?.code, withNull.status], ['23502', 400])
      assert.deepEqual((await notes.insert({}).select('text')).data, [{ text: 'empty' }])
    },
  ),
  check('a write of more rows than it may affect is undone', async (context) => {
    const prefix = await threeOrders(context)
    const orders = service(context).from('orders')
    const { error } = await orders
      .update({ status: 'x' })
      .like('slug', `${prefix}%`)
      .setHeader('Prefer', 'handling=strict, max-affected=2')
    assert.equal(error?.code, 'PGRST124')
    assert.deepEqual((await orders.select('slug').eq('status', 'x').like('slug', `${prefix}%`)).data, [])
  }),
  check('a write that is to give one row and gives several is undone', async (context) => {
    const prefix = await threeOrders(context)
    const orders = service(context).from('orders')
    const { error } = await orders.update({ status: 'x' }).like('slug', `${prefix}%`).select().single()
    assert.equal(error?.code, 'PGRST116')
    assert.deepEqual((await orders.select('slug').eq('status', 'x').like('slug', `${prefix}%`)).data, [])
  }),
  check('updates and deletes without a condition are refused, 21000', async (context) => {
    const notes = clientOf(context, context.secretKey).from('notes')
    const update = await notes.update({ text: 'all' } as never)
    const removal = await notes.delete()
    assert.deepEqual([update.error?.code, update.status, removal.error?.code], ['21000', 400, '21000'])
  }),
  check('a key that is there already is 23505, 409, and a missing column PGRST204', async (context) => {
    const slug = uniqueName('tag')
    const tags = service(context).from('tags')
    await tags.insert({ slug })
    const again = await tags.insert({ slug })
    assert.deepEqual([again.error?.code, again.status], ['23505', 409])
    const missing = await tags.insert({ slug: 'x', nope: 1 } as never)
    assert.deepEqual([missing.error?.code, missing.status], ['PGRST204', 400])
    const unknown = await tags.select('nope')
    assert.deepEqual([unknown.error?.code, unknown.status], ['42703', 400])
  }),
  check('embedded resources and aggregates are refused with a reason', async (context) => {
    const embedded = await service(context).from('orders').select('slug,tags(slug)')
    assert.deepEqual([embedded.error?.code, embedded.status], ['PGRST200', 400])
    assert.match(embedded.error?.hint ?? '', /view/)
    const aggregate = await service(context).from('orders').select('n.sum()')
    assert.equal(aggregate.error?.code, 'PGRST123')
  }),
  check('planned and estimated counts are numbers', async (context) => {
    const prefix = await threeOrders(context)
    for (const count of ['planned', 'estimated'] as const) {
      const answer = await service(context).from('orders').select('slug', { count }).like('slug', `${prefix}%`)
      assert.equal(answer.error, null)
      assert.equal(typeof answer.count, 'number')
    }
  }),
  check('nulls are stripped where it is asked for', async (context) => {
    const prefix = await threeOrders(context)
    const { data } = await service(context)
      .from('orders')
      .select('n,input')
      .eq('slug', `${prefix}-b`)
      .single()
      .stripNulls()
    assert.deepEqual(data, { n: 1 })
  }),
]
